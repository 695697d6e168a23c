#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "services/redirector/lookup/slug_bloom_filter.h"
#include "tests/support/test.h"

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

TEST_CASE(contains_every_added_slug)
{
	struct slug_bloom_filter *filter = filled(SLUGS);
	char slug[16];
	for (int i = 0; i < SLUGS; i++)
		assert_true(slug_bloom_filter_may_contain(filter, slug, numbered('s', i, slug)));
	slug_bloom_filter_free(filter);
}

TEST_CASE(has_one_percent_false_positives_at_capacity)
{
	struct slug_bloom_filter *filter = filled(SLUGS);
	char slug[16];
	int wrong = 0;
	for (int i = 0; i < SLUGS; i++)
		wrong += slug_bloom_filter_may_contain(filter, slug, numbered('x', i, slug));
	assert_in_range(wrong, SLUGS / 100 * 8 / 10, SLUGS / 100 * 12 / 10);
	slug_bloom_filter_free(filter);
}

TEST_CASE(takes_ten_bits_per_slug)
{
	struct slug_bloom_filter *filter = slug_bloom_filter_new(10000000);
	assert_in_range(slug_bloom_filter_bytes(filter), 11900000, 12100000);
	slug_bloom_filter_free(filter);
}

TEST_CASE(counts_distinct_slugs_approximately)
{
	struct slug_bloom_filter *filter = filled(SLUGS / 2);
	char slug[16];
	for (int i = 0; i < SLUGS / 2; i++)
		slug_bloom_filter_add(filter, slug, numbered('s', i, slug));
	assert_in_range(slug_bloom_filter_count(filter), SLUGS / 2 - SLUGS / 200, SLUGS / 2);
	assert_false(slug_bloom_filter_is_overfull(filter));
	slug_bloom_filter_free(filter);
}

TEST_CASE(reports_that_it_is_overfull)
{
	struct slug_bloom_filter *filter = filled(SLUGS + SLUGS / 10);
	assert_true(slug_bloom_filter_is_overfull(filter));
	slug_bloom_filter_free(filter);
}

TEST_CASE(is_complete_only_for_the_continuous_period_it_was_filled_in)
{
	struct slug_bloom_filter *filter = slug_bloom_filter_new(SLUGS);
	assert_false(slug_bloom_filter_is_complete(filter, 5));
	slug_bloom_filter_set_complete(filter, 5);
	assert_true(slug_bloom_filter_is_complete(filter, 5));
	assert_false(slug_bloom_filter_is_complete(filter, 6));
	slug_bloom_filter_free(filter);
}

TEST_MAIN()
