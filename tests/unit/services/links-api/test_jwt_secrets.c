#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "services/links-api/access/jwt_secrets.h"
#include "tests/support/test.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static void accepts_a_single_secret(void **state)
{
	(void)state;
	struct jwt_secrets list;
	assert_int_equal(jwt_secrets_parse(A, &list), OK);
	assert_int_equal(list.count, 1);
	assert_string_equal(jwt_secrets_get(&list, 0), A);
}

static void keeps_the_order_with_any_separator(void **state)
{
	(void)state;
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

static void refuses_an_empty_list_and_a_short_secret(void **state)
{
	(void)state;
	static const char *const texts[] = { "", ",", "\n\n", "short", A ",short", "short\n" A };
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct jwt_secrets list = { .count = 7 };
		assert_int_equal(jwt_secrets_parse(texts[i], &list), ERR_INVALID);
		assert_int_equal(list.count, 7);
	}
}

static void refuses_too_many_secrets_or_bytes(void **state)
{
	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepts_a_single_secret),
		cmocka_unit_test(keeps_the_order_with_any_separator),
		cmocka_unit_test(refuses_an_empty_list_and_a_short_secret),
		cmocka_unit_test(refuses_too_many_secrets_or_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
