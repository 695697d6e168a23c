#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include "services/links-api/links/slug_reserve.h"

static void keeps_the_words_of_a_list_in_whatever_case(void **state)
{
	(void)state;
	struct slug_reserve *reserve;
	assert_int_equal(slug_reserve_new("  brand,Sale\nx_1-2 \t,,news", &reserve), OK);
	const char *const kept[] = { "brand", "BRAND", "sale", "x_1-2", "News" };
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		assert_true(slug_reserve_has(reserve, kept[i]));
	const char *const free_ones[] = { "brands", "bran", "x_1", "sal", "a", "z" };
	for (size_t i = 0; i < sizeof(free_ones) / sizeof(free_ones[0]); i++)
		assert_false(slug_reserve_has(reserve, free_ones[i]));
	slug_reserve_free(reserve);
}

static void keeps_nothing_without_words(void **state)
{
	(void)state;
	struct slug_reserve *reserve;
	assert_int_equal(slug_reserve_new("", &reserve), OK);
	assert_false(slug_reserve_has(reserve, "brand"));
	slug_reserve_free(reserve);
}

static void refuses_words_that_are_no_slugs(void **state)
{
	(void)state;
	struct slug_reserve *reserve;
	assert_int_equal(slug_reserve_new("good,robots.txt", &reserve), ERR_INVALID);
	assert_int_equal(slug_reserve_new("abcdefghijklmnopqrstuvwxyz0123456", &reserve), ERR_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_the_words_of_a_list_in_whatever_case),
		cmocka_unit_test(keeps_nothing_without_words),
		cmocka_unit_test(refuses_words_that_are_no_slugs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
