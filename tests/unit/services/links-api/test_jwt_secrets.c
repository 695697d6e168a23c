#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "services/links-api/identity/jwt_secrets.h"
#include "tests/support/test.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

TEST_CASE(accepts_a_single_secret)
{
	struct jwt_secrets list;
	assert_int_equal(jwt_secrets_parse(A, &list), OK);
	assert_int_equal(list.count, 1);
	assert_string_equal(jwt_secrets_get(&list, 0), A);
}

TEST_CASE(keeps_the_order_with_any_separator)
{
	static const char *const texts[] = { A "," B, A "\n" B "\n", ",\n" A ",,\r\n" B ",",
		                             A "\r\n" B };
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct jwt_secrets list;
		assert_int_equal(jwt_secrets_parse(texts[i], &list), OK);
		assert_int_equal(list.count, 2);
		assert_string_equal(jwt_secrets_get(&list, 0), A);
		assert_string_equal(jwt_secrets_get(&list, 1), B);
	}
}

TEST_CASE(refuses_an_empty_list_and_a_short_secret)
{
	static const char *const texts[] = { "", ",", "\n\n", "short", A ",short", "short\n" A };
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct jwt_secrets list = { .count = 7 };
		assert_int_equal(jwt_secrets_parse(texts[i], &list), ERR_INVALID);
		assert_int_equal(list.count, 7);
	}
}

TEST_CASE(refuses_too_many_secrets_or_bytes)
{
	struct jwt_secrets list;
	char text[JWT_SECRETS_BYTES_MAX + 2] = "";
	for (size_t i = 0; i < JWT_SECRETS_MAX; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s,", A);
	assert_int_equal(jwt_secrets_parse(text, &list), OK);
	assert_int_equal(list.count, JWT_SECRETS_MAX);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s", A);
	assert_int_equal(jwt_secrets_parse(text, &list), ERR_INVALID);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(jwt_secrets_parse(text, &list), ERR_INVALID);
	text[JWT_SECRETS_BYTES_MAX] = '\0';
	assert_int_equal(jwt_secrets_parse(text, &list), OK);
}

TEST_MAIN()
