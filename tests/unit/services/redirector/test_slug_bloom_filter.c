#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "services/redirector/slug_bloom_filter.h"

#define SLUGS 100000

static size_t numbered(char kind, int number, char out[static 16])
{
	return (size_t)snprintf(out, 16, "%c%06d", kind, number);
}

static struct slug_bloom_filter *filled(int count)
{
	struct slug_bloom_filter *filter = slug_bloom_filter_new(SLUGS);
	char slug[16];
	for (int i = 0; i < count; i++)
		slug_bloom_filter_add(filter, slug, numbered('s', i, slug));
	return filter;
}

static void never_denies_what_was_added(void **state)
{
	(void)state;
	struct slug_bloom_filter *filter = filled(SLUGS);
	char slug[16];
	for (int i = 0; i < SLUGS; i++)
		assert_true(slug_bloom_filter_may_contain(filter, slug, numbered('s', i, slug)));
	slug_bloom_filter_free(filter);
}

static void is_wrong_about_one_in_a_hundred_others_when_it_is_full(void **state)
{
	(void)state;
	struct slug_bloom_filter *filter = filled(SLUGS);
	char slug[16];
	int wrong = 0;
	for (int i = 0; i < SLUGS; i++)
		wrong += slug_bloom_filter_may_contain(filter, slug, numbered('x', i, slug));
	assert_in_range(wrong, SLUGS / 100 * 8 / 10, SLUGS / 100 * 12 / 10);
	slug_bloom_filter_free(filter);
}

static void takes_ten_bits_a_slug(void **state)
{
	(void)state;
	struct slug_bloom_filter *filter = slug_bloom_filter_new(10000000);
	assert_in_range(slug_bloom_filter_bytes(filter), 11900000, 12100000);
	slug_bloom_filter_free(filter);
}

static void counts_each_slug_once_or_so(void **state)
{
	(void)state;
	struct slug_bloom_filter *filter = filled(SLUGS / 2);
	char slug[16];
	for (int i = 0; i < SLUGS / 2; i++)
		slug_bloom_filter_add(filter, slug, numbered('s', i, slug));
	assert_in_range(slug_bloom_filter_count(filter), SLUGS / 2 - SLUGS / 200, SLUGS / 2);
	assert_false(slug_bloom_filter_is_overfull(filter));
	slug_bloom_filter_free(filter);
}

static void says_that_it_is_overfull(void **state)
{
	(void)state;
	struct slug_bloom_filter *filter = filled(SLUGS + SLUGS / 10);
	assert_true(slug_bloom_filter_is_overfull(filter));
	slug_bloom_filter_free(filter);
}

static void is_complete_for_the_cover_that_it_was_filled_in(void **state)
{
	(void)state;
	struct slug_bloom_filter *filter = slug_bloom_filter_new(SLUGS);
	assert_false(slug_bloom_filter_is_complete(filter, 5));
	slug_bloom_filter_set_complete(filter, 5);
	assert_true(slug_bloom_filter_is_complete(filter, 5));
	assert_false(slug_bloom_filter_is_complete(filter, 6));
	slug_bloom_filter_free(filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(never_denies_what_was_added),
		cmocka_unit_test(is_wrong_about_one_in_a_hundred_others_when_it_is_full),
		cmocka_unit_test(takes_ten_bits_a_slug),
		cmocka_unit_test(counts_each_slug_once_or_so),
		cmocka_unit_test(says_that_it_is_overfull),
		cmocka_unit_test(is_complete_for_the_cover_that_it_was_filled_in),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
