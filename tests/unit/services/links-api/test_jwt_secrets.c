#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "services/links-api/identity/access_token.h"
#include "tests/support/test.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

TEST_CASE(accepts_a_single_secret)
{
	struct access_token_secrets list;
	assert_int_equal(access_token_parse_secrets(A, &list), OK);
	assert_int_equal(list.count, 1);
	assert_string_equal(access_token_secret(&list, 0), A);
}

TEST_CASE(keeps_the_order_with_any_separator)
{
	static const char *const texts[] = { A "," B, A "\n" B "\n", ",\n" A ",,\r\n" B ",",
		                             A "\r\n" B };
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct access_token_secrets list;
		assert_int_equal(access_token_parse_secrets(texts[i], &list), OK);
		assert_int_equal(list.count, 2);
		assert_string_equal(access_token_secret(&list, 0), A);
		assert_string_equal(access_token_secret(&list, 1), B);
	}
}

TEST_CASE(refuses_an_empty_list_and_a_short_secret)
{
	static const char *const texts[] = { "", ",", "\n\n", "short", A ",short", "short\n" A };
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct access_token_secrets list = { .count = 7 };
		assert_int_equal(access_token_parse_secrets(texts[i], &list), ERR_INVALID);
		assert_int_equal(list.count, 7);
	}
}

TEST_CASE(refuses_too_many_secrets_or_bytes)
{
	struct access_token_secrets list;
	char text[ACCESS_TOKEN_SECRETS_BYTES_MAX + 2] = "";
	for (size_t i = 0; i < ACCESS_TOKEN_SECRETS_MAX; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s,", A);
	assert_int_equal(access_token_parse_secrets(text, &list), OK);
	assert_int_equal(list.count, ACCESS_TOKEN_SECRETS_MAX);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s", A);
	assert_int_equal(access_token_parse_secrets(text, &list), ERR_INVALID);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(access_token_parse_secrets(text, &list), ERR_INVALID);
	text[ACCESS_TOKEN_SECRETS_BYTES_MAX] = '\0';
	assert_int_equal(access_token_parse_secrets(text, &list), OK);
}

TEST_MAIN()
