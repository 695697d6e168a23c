#include <stdint.h>
#include <stdio.h>

#include "lib/base/clock.h"
#include "services/redirector/lookup/recent_misses.h"
#include "tests/support/test.h"

#define NOW_US (1000 * CLOCK_US_PER_S)

TEST_CASE(remembers_a_miss_for_a_minute)
{
	struct recent_misses *misses = recent_misses_new();
	assert_false(recent_misses_has(misses, "abc", 3, NOW_US));
	recent_misses_add(misses, "abc", 3, NOW_US);
	assert_true(recent_misses_has(misses, "abc", 3, NOW_US));
	assert_true(recent_misses_has(misses, "abc", 3, NOW_US + 59 * CLOCK_US_PER_S));
	assert_false(recent_misses_has(misses, "abc", 3, NOW_US + 62 * CLOCK_US_PER_S));
	recent_misses_free(misses);
}

TEST_CASE(rarely_confuses_slugs)
{
	struct recent_misses *misses = recent_misses_new();
	char slug[16];
	unsigned confused = 0;
	for (unsigned i = 0; i < 20000; i++) {
		int len = snprintf(slug, sizeof(slug), "missed-%u", i);
		recent_misses_add(misses, slug, (size_t)len, NOW_US);
	}
	for (unsigned i = 0; i < 20000; i++) {
		int len = snprintf(slug, sizeof(slug), "other-%u", i);
		confused += recent_misses_has(misses, slug, (size_t)len, NOW_US);
	}
	assert_in_range(confused, 0, 2);
	recent_misses_free(misses);
}

TEST_MAIN()
