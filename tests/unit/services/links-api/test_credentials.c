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
		read_json("{\"email\":\"A@b.example\",\"password\":\"kelp-tr7\",\"name\":\"Änn\"}",
	                  true),
		OK);
	assert_string_equal(credentials.email, "A@b.example");
	assert_string_equal(credentials.password, "kelp-tr7");
	assert_string_equal(credentials.name, "Änn");
	assert_int_equal(read_json("{\"email\":\"A@b.example\",\"password\":\"kelp-tr7\"}", true),
	                 OK);
	assert_string_equal(credentials.name, "");
}

TEST_CASE(needs_8_characters_and_takes_72_bytes)
{
	char password[PASSWORD_SIZE + 1] = "";
	assert_int_equal(read_password("kelp-tr"), ERR_INVALID);
	assert_int_equal(read_password("kelp-tr7"), OK);
	assert_int_equal(read_password("äöüßäöü"), ERR_INVALID);
	assert_int_equal(read_password("äöüßäöüß"), OK);
	memset(password, 'x', PASSWORD_BYTES_MAX);
	assert_int_equal(read_password(password), OK);
	password[PASSWORD_BYTES_MAX] = 'x';
	assert_int_equal(read_password(password), ERR_INVALID);
	assert_true(json_fixture_names(&wrong, "/password"));
}

TEST_CASE(refuses_what_anybody_tries_first)
{
	static const char *const refused[] = {
		"password", "Password",  "PASSWORD123!", "12345678",     "iloveyou1", "changeme",
		"waymark1", "Waymark!!", "a@b.example",  "A@B.EXAMPLE1", "a1234567",
	};
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		assert_int_equal(read_password(refused[i]), ERR_INVALID);
		assert_true(json_fixture_names(&wrong, "/password"));
		assert_string_equal(wrong.field[0].code, "common");
	}
	assert_int_equal(read_password("passwords of mine"), OK);
	assert_int_equal(read_password("my waymark login"), OK);
	assert_int_equal(read_password("a b@b.example"), OK);
	assert_int_equal(read_password("word pass"), OK);
}

TEST_CASE(refuses_a_common_new_password_and_no_common_old_one)
{
	char old[PASSWORD_SIZE], new[PASSWORD_SIZE];
	struct json *json = json_fixture_parse("{\"old\":\"password\",\"new\":\"kelp-tr7\"}");
	wrong.count = 0;
	assert_int_equal(credentials_read_password(json, "old", "new", old, new, &wrong), OK);
	assert_int_equal(credentials_read_password(json, "new", "old", new, old, &wrong),
	                 ERR_INVALID);
	assert_true(json_fixture_names(&wrong, "/old"));
	json_free(json);
	assert_int_equal(read_json("{\"email\":\"a@b\",\"password\":\"password\"}", false), OK);
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
		snprintf(text, sizeof(text), "{\"email\":\"%s\",\"password\":\"kelp-tr7\"}",
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
	snprintf(text, sizeof(text), "{\"email\":\"a@%s\",\"password\":\"kelp-tr7\"}", filler);
	assert_int_equal(read_json(text, false), OK);
	snprintf(text, sizeof(text), "{\"email\":\"a@%sd\",\"password\":\"kelp-tr7\"}", filler);
	assert_int_equal(read_json(text, false), ERR_INVALID);
	memset(filler, 0, sizeof(filler));
	memset(filler, 'l', 65);
	snprintf(text, sizeof(text), "{\"email\":\"%s@b\",\"password\":\"kelp-tr7\"}", filler);
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
		read_json("{\"email\":\"a@b\",\"password\":\"kelp-tr7\",\"name\":\"x\\u0007\"}",
	                  true),
		ERR_INVALID);
	assert_true(json_fixture_names(&wrong, "/name"));
}

TEST_CASE(a_login_must_not_contain_a_name)
{
	assert_int_equal(
		read_json("{\"email\":\"a@b\",\"password\":\"kelp-tr7\",\"name\":\"x\"}", false),
		ERR_INVALID);
	assert_true(json_fixture_names(&wrong, "/name"));
}

TEST_CASE(wiping_clears_all_bytes)
{
	static const struct credentials none;
	assert_int_equal(read_password("kelp-tr7"), OK);
	credentials_wipe(&credentials);
	assert_memory_equal(&credentials, &none, sizeof(none));
}

TEST_MAIN()
