#include <stdint.h>
#include <stdio.h>

#include "services/links-api/http/local_limiter.h"
#include "tests/support/test.h"

#define HOUR_S 3600

TEST_CASE(counts_each_key_in_a_window_of_its_own)
{
	struct clock_fake clock;
	clock_fake_init(&clock, 0);
	struct local_limiter *limiter = local_limiter_new(&clock.clock);
	assert_int_equal(local_limiter_add(limiter, "a", 2, HOUR_S).counted, 2);
	clock_fake_advance(&clock, 10 * CLOCK_US_PER_S);
	struct local_limiter_state a = local_limiter_add(limiter, "a", 3, HOUR_S);
	assert_int_equal(a.counted, 5);
	assert_int_equal(a.reset_s, HOUR_S - 10);
	assert_int_equal(local_limiter_get(limiter, "b").counted, 0);
	local_limiter_refund(limiter, "a");
	assert_int_equal(local_limiter_get(limiter, "a").counted, 4);
	clock_fake_advance(&clock, (HOUR_S - 10) * CLOCK_US_PER_S);
	assert_int_equal(local_limiter_get(limiter, "a").counted, 0);
	local_limiter_free(limiter);
}

TEST_CASE(reserves_up_to_the_limit_until_released_or_expired)
{
	struct clock_fake clock;
	struct local_limiter_state before;
	clock_fake_init(&clock, 0);
	struct local_limiter *limiter = local_limiter_new(&clock.clock);
	local_limiter_add(limiter, "a", 1, HOUR_S);
	assert_int_equal(local_limiter_reserve(limiter, "a", 3, 30, &before), OK);
	assert_int_equal(local_limiter_reserve(limiter, "a", 3, 30, &before), OK);
	assert_int_equal(before.running, 1);
	assert_int_equal(local_limiter_reserve(limiter, "a", 3, 30, &before), ERR_LIMIT);
	local_limiter_release(limiter, "a");
	assert_int_equal(local_limiter_reserve(limiter, "a", 3, 30, &before), OK);
	assert_int_equal(local_limiter_reserve(limiter, "a", 3, 30, &before), ERR_LIMIT);
	clock_fake_advance(&clock, 30 * CLOCK_US_PER_S);
	assert_int_equal(local_limiter_reserve(limiter, "a", 3, 30, &before), OK);
	local_limiter_free(limiter);
}

TEST_CASE(a_flood_of_keys_does_not_erase_the_count_of_another)
{
	struct clock_fake clock;
	char key[16];
	clock_fake_init(&clock, 0);
	struct local_limiter *limiter = local_limiter_new(&clock.clock);
	local_limiter_add(limiter, "attacked", 10, HOUR_S);
	for (int i = 0; i < 100000; i++) {
		snprintf(key, sizeof(key), "%d", i);
		local_limiter_add(limiter, key, 1, HOUR_S);
	}
	assert_int_equal(local_limiter_get(limiter, "attacked").counted, 10);
	local_limiter_free(limiter);
}

TEST_MAIN()
