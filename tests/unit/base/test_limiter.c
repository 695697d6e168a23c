#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/limiter.h"
#include "tests/support/clock_fake.h"
#include "tests/support/test.h"

#define SECOND CLOCK_US_PER_S

/* An event every ten seconds. */
static const struct limiter_rule RULE = { .max = 6, .window_us = 60 * SECOND };

static int64_t owed(struct limiter *limiter, const char *key)
{
	return limiter_owed_us(limiter, key, strlen(key));
}

static int64_t add(struct limiter *limiter, const char *key, int64_t events)
{
	return limiter_add(limiter, key, strlen(key), &RULE, events);
}

static enum err reserve(struct limiter *limiter, const char *key)
{
	return limiter_reserve(limiter, key, strlen(key), &RULE, 30 * SECOND);
}

TEST_CASE(allows_max_at_once_and_then_one_each_interval)
{
	int64_t owed_us = 0;
	for (int64_t i = 0; i < RULE.max; i++) {
		assert_int_equal(limiter_left(&RULE, owed_us), RULE.max - i);
		assert_int_equal(limiter_wait_us(&RULE, owed_us), 0);
		owed_us = limiter_count(&RULE, owed_us, 1);
	}
	assert_int_equal(limiter_left(&RULE, owed_us), 0);
	assert_int_equal(limiter_wait_us(&RULE, owed_us), 10 * SECOND);
	assert_int_equal(limiter_wait_us(&RULE, owed_us - 10 * SECOND + 1), 1);
	assert_int_equal(limiter_left(&RULE, owed_us - 10 * SECOND), 1);
}

TEST_CASE(nobody_waits_longer_than_a_window_or_owes_less_than_nothing)
{
	assert_int_equal(limiter_count(&RULE, 0, 1000), 110 * SECOND);
	assert_int_equal(limiter_wait_us(&RULE, 110 * SECOND), 60 * SECOND);
	assert_int_equal(limiter_count(&RULE, 5 * SECOND, -1), 0);
}

TEST_CASE(a_rate_above_one_per_microsecond_is_kept_at_that)
{
	const struct limiter_rule fast = { .max = 1000000000, .window_us = SECOND };
	assert_int_equal(limiter_event_us(&fast), 1);
	assert_int_equal(limiter_left(&fast, 0), fast.max);
}

TEST_CASE(counts_each_subject_on_its_own)
{
	struct clock_fake clock;
	clock_fake_init(&clock, 0);
	struct limiter *limiter = limiter_new(&clock.clock);
	assert_int_equal(add(limiter, "a", 2), 20 * SECOND);
	clock_fake_advance(&clock, 5 * SECOND);
	assert_int_equal(owed(limiter, "a"), 15 * SECOND);
	assert_int_equal(owed(limiter, "b"), 0);
	assert_int_equal(add(limiter, "a", -1), 5 * SECOND);
	limiter_set_owed(limiter, "a", 1, 7 * SECOND);
	assert_int_equal(owed(limiter, "a"), 7 * SECOND);
	clock_fake_advance(&clock, 7 * SECOND);
	assert_int_equal(owed(limiter, "a"), 0);
	limiter_free(limiter);
}

TEST_CASE(reserves_up_to_the_limit_until_released_or_expired)
{
	struct clock_fake clock;
	clock_fake_init(&clock, 0);
	struct limiter *limiter = limiter_new(&clock.clock);
	add(limiter, "a", 4);
	assert_int_equal(reserve(limiter, "a"), OK);
	assert_int_equal(reserve(limiter, "a"), OK);
	assert_int_equal(reserve(limiter, "a"), ERR_LIMIT);
	limiter_release(limiter, "a", 1);
	assert_int_equal(reserve(limiter, "a"), OK);
	assert_int_equal(reserve(limiter, "a"), ERR_LIMIT);
	clock_fake_advance(&clock, 30 * SECOND);
	assert_int_equal(reserve(limiter, "a"), OK);
	limiter_free(limiter);
}

TEST_CASE(a_flood_of_subjects_does_not_erase_what_others_owe)
{
	struct clock_fake clock;
	char key[32];
	clock_fake_init(&clock, 0);
	struct limiter *limiter = limiter_new(&clock.clock);
	for (int i = 0; i < 10; i++) {
		snprintf(key, sizeof(key), "attacked-%d", i);
		add(limiter, key, 6);
	}
	for (int i = 0; i < 8 * LIMITER_SUBJECTS_MAX; i++) {
		snprintf(key, sizeof(key), "%d", i);
		add(limiter, key, 1);
	}
	for (int i = 0; i < 10; i++) {
		snprintf(key, sizeof(key), "attacked-%d", i);
		assert_int_equal(owed(limiter, key), 60 * SECOND);
	}
	limiter_free(limiter);
}

TEST_CASE(a_flood_of_subjects_does_not_free_what_others_have_reserved)
{
	struct clock_fake clock;
	char key[32];
	clock_fake_init(&clock, 0);
	struct limiter *limiter = limiter_new(&clock.clock);
	for (int64_t i = 0; i < RULE.max; i++)
		assert_int_equal(reserve(limiter, "in use"), OK);
	for (int i = 0; i < 2 * LIMITER_SUBJECTS_MAX; i++) {
		snprintf(key, sizeof(key), "%d", i);
		add(limiter, key, 1);
	}
	assert_int_equal(reserve(limiter, "in use"), ERR_LIMIT);
	limiter_free(limiter);
}

TEST_MAIN()
