#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "services/links-api/accounts/credentials.h"
#include "tests/support/test.h"
#include "tests/unit/services/links-api/json_fixture.h"

static struct credentials credentials;
static struct http_problem_fields wrong;

static enum err read_json(const char *text, bool has_name)
{
	struct json *json = json_fixture_parse(text);
	wrong.count = 0;
	enum err err = credentials_read(json, has_name, &credentials, &wrong);
	json_free(json);
	return err;
}

static enum err read_password(const char *password)
{
	char text[512];
	snprintf(text, sizeof(text), "{\"email\":\"a@b.example\",\"password\":\"%s\"}", password);
	return read_json(text, true);
}

TEST_CASE(a_short_password_is_not_invalid_at_login)
{
	assert_int_equal(read_json("{\"email\":\"a@b\",\"password\":\"short\"}", false), OK);
	assert_int_equal(read_json("{\"email\":\"a@b\",\"password\":\"\"}", false), ERR_INVALID);
	assert_true(json_fixture_names(&wrong, "/password"));
}

TEST_CASE(parses_register_and_login)
{
	assert_int_equal(
		read_json("{\"email\":\"A@b.example\",\"password\":\"12345678\",\"name\":\"Änn\"}",
	                  true),
		OK);
	assert_string_equal(credentials.email, "A@b.example");
	assert_string_equal(credentials.password, "12345678");
	assert_string_equal(credentials.name, "Änn");
	assert_int_equal(read_json("{\"email\":\"A@b.example\",\"password\":\"12345678\"}", true),
	                 OK);
	assert_string_equal(credentials.name, "");
}

TEST_CASE(needs_8_characters_and_takes_72_bytes)
{
	char password[PASSWORD_SIZE + 1] = "";
	assert_int_equal(read_password("1234567"), ERR_INVALID);
	assert_int_equal(read_password("12345678"), OK);
	assert_int_equal(read_password("äöüßäöü"), ERR_INVALID);
	assert_int_equal(read_password("äöüßäöüß"), OK);
	memset(password, 'x', PASSWORD_BYTES_MAX);
	assert_int_equal(read_password(password), OK);
	password[PASSWORD_BYTES_MAX] = 'x';
	assert_int_equal(read_password(password), ERR_INVALID);
	assert_true(json_fixture_names(&wrong, "/password"));
}

TEST_CASE(refuses_malformed_addresses)
{
	static const char *const refused[] = {
		"",
		"a",
		"@",
		"a@",
		"@b",
		"a@b@c",
		"a b@c",
		"a@b\\n",
		"a@b\\t",
		"ä@b.example",
		"a@b.example\\u00a0",
	};
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		char text[256];
		snprintf(text, sizeof(text), "{\"email\":\"%s\",\"password\":\"12345678\"}",
		         refused[i]);
		assert_int_equal(read_json(text, false), ERR_INVALID);
		assert_int_equal(wrong.count, 1);
		assert_true(json_fixture_names(&wrong, "/email"));
	}
}

TEST_CASE(refuses_addresses_that_are_too_long)
{
	char text[512];
	char filler[256] = "";
	memset(filler, 'd', 254 - 2);
	snprintf(text, sizeof(text), "{\"email\":\"a@%s\",\"password\":\"12345678\"}", filler);
	assert_int_equal(read_json(text, false), OK);
	snprintf(text, sizeof(text), "{\"email\":\"a@%sd\",\"password\":\"12345678\"}", filler);
	assert_int_equal(read_json(text, false), ERR_INVALID);
	memset(filler, 0, sizeof(filler));
	memset(filler, 'l', 65);
	snprintf(text, sizeof(text), "{\"email\":\"%s@b\",\"password\":\"12345678\"}", filler);
	assert_int_equal(read_json(text, false), ERR_INVALID);
}

TEST_CASE(reports_all_invalid_fields_at_once)
{
	assert_int_equal(read_json("{}", true), ERR_INVALID);
	assert_int_equal(wrong.count, 2);
	assert_true(json_fixture_names(&wrong, "/email") &&
	            json_fixture_names(&wrong, "/password"));
	assert_int_equal(
		read_json("{\"email\":1,\"password\":null,\"name\":[],\"role\":\"admin\"}", true),
		ERR_INVALID);
	assert_int_equal(wrong.count, 4);
	assert_true(json_fixture_names(&wrong, "/email") &&
	            json_fixture_names(&wrong, "/password") &&
	            json_fixture_names(&wrong, "/name") && json_fixture_names(&wrong, "/role"));
	assert_int_equal(
		read_json("{\"email\":\"a@b\",\"password\":\"12345678\",\"name\":\"x\\u0007\"}",
	                  true),
		ERR_INVALID);
	assert_true(json_fixture_names(&wrong, "/name"));
}

TEST_CASE(a_login_must_not_contain_a_name)
{
	assert_int_equal(
		read_json("{\"email\":\"a@b\",\"password\":\"12345678\",\"name\":\"x\"}", false),
		ERR_INVALID);
	assert_true(json_fixture_names(&wrong, "/name"));
}

TEST_CASE(wiping_clears_all_bytes)
{
	static const struct credentials none;
	assert_int_equal(read_password("12345678"), OK);
	credentials_wipe(&credentials);
	assert_memory_equal(&credentials, &none, sizeof(none));
}

TEST_MAIN()
