#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "services/links-api/access/secret_list.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static void takes_one_secret_for_a_list_of_one(void **state)
{
	(void)state;
	struct secret_list list;
	assert_int_equal(secret_list_parse(A, &list), OK);
	assert_int_equal(list.count, 1);
	assert_string_equal(secret_list_get(&list, 0), A);
}

static void keeps_the_order_whatever_separates_them(void **state)
{
	(void)state;
	static const char *const texts[] = { A "," B, A "\n" B "\n", ",\n" A ",,\r\n" B ",", A "\r\n" B };
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct secret_list list;
		assert_int_equal(secret_list_parse(texts[i], &list), OK);
		assert_int_equal(list.count, 2);
		assert_string_equal(secret_list_get(&list, 0), A);
		assert_string_equal(secret_list_get(&list, 1), B);
	}
}

static void refuses_a_list_of_none_and_one_with_a_short_secret(void **state)
{
	(void)state;
	static const char *const texts[] = { "", ",", "\n\n", "short", A ",short", "short\n" A };
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct secret_list list = { .count = 7 };
		assert_int_equal(secret_list_parse(texts[i], &list), ERR_INVALID);
		assert_int_equal(list.count, 7);
	}
}

static void refuses_more_secrets_or_bytes_than_it_has_room_for(void **state)
{
	(void)state;
	struct secret_list list;
	char text[SECRET_LIST_BYTES_MAX + 2] = "";
	for (size_t i = 0; i < SECRET_LIST_MAX; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s,", A);
	assert_int_equal(secret_list_parse(text, &list), OK);
	assert_int_equal(list.count, SECRET_LIST_MAX);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s", A);
	assert_int_equal(secret_list_parse(text, &list), ERR_INVALID);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(secret_list_parse(text, &list), ERR_INVALID);
	text[SECRET_LIST_BYTES_MAX] = '\0';
	assert_int_equal(secret_list_parse(text, &list), OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_one_secret_for_a_list_of_one),
		cmocka_unit_test(keeps_the_order_whatever_separates_them),
		cmocka_unit_test(refuses_a_list_of_none_and_one_with_a_short_secret),
		cmocka_unit_test(refuses_more_secrets_or_bytes_than_it_has_room_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
