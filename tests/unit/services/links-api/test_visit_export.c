#include <stdint.h>

#include "services/links-api/statistics/visit_export.h"
#include "tests/support/test.h"

TEST_CASE(limits_the_exports_of_one_user_and_allows_more_after_one_ends)
{
	struct visit_export_limiter *limiter = visit_export_limiter_new();
	for (int i = 0; i < VISIT_EXPORT_MAX_PER_USER; i++)
		assert_int_equal(visit_export_limiter_acquire(limiter, 7), OK);
	assert_int_equal(visit_export_limiter_acquire(limiter, 7), ERR_LIMIT);
	assert_int_equal(visit_export_limiter_acquire(limiter, 8), OK);
	visit_export_limiter_release(limiter, 7);
	assert_int_equal(visit_export_limiter_acquire(limiter, 7), OK);
	assert_int_equal(visit_export_limiter_acquire(limiter, 7), ERR_LIMIT);
	visit_export_limiter_free(limiter);
}

TEST_CASE(limits_the_exports_of_all_users_together)
{
	struct visit_export_limiter *limiter = visit_export_limiter_new();
	for (int64_t i = 0; i < VISIT_EXPORT_MAX; i++)
		assert_int_equal(visit_export_limiter_acquire(limiter, i + 1), OK);
	assert_int_equal(visit_export_limiter_acquire(limiter, 99), ERR_LIMIT);
	visit_export_limiter_release(limiter, 5);
	assert_int_equal(visit_export_limiter_acquire(limiter, 99), OK);
	visit_export_limiter_free(limiter);
	visit_export_limiter_free(NULL);
}

TEST_CASE(keeps_half_of_the_places_for_users_without_an_export)
{
	struct visit_export_limiter *limiter = visit_export_limiter_new();
	int64_t running = 0;
	for (int64_t user = 1; user <= 8; user++)
		for (int i = 0; i < VISIT_EXPORT_MAX_PER_USER; i++)
			running += visit_export_limiter_acquire(limiter, user) == OK;
	assert_int_equal(running, VISIT_EXPORT_MAX / 2 + 4); /* 4 users 4 each, 4 users one */
	assert_int_equal(visit_export_limiter_acquire(limiter, 9), OK);
	assert_int_equal(visit_export_limiter_acquire(limiter, 9), ERR_LIMIT);
	visit_export_limiter_free(limiter);
}

TEST_CASE(an_export_needs_a_least_rate_after_its_first_minute)
{
	const int64_t minute_us = INT64_C(60000000);
	const size_t minute_bytes = 60 * VISIT_EXPORT_BYTES_PER_S_MIN;
	assert_false(visit_export_is_too_slow(0, 0));
	assert_false(visit_export_is_too_slow(minute_us, 0));
	assert_true(visit_export_is_too_slow(minute_us + 1, minute_bytes - 1));
	assert_false(visit_export_is_too_slow(minute_us + 1, minute_bytes));
	assert_true(visit_export_is_too_slow(60 * minute_us, 60 * minute_bytes - 1));
	assert_false(visit_export_is_too_slow(60 * minute_us, 60 * minute_bytes));
}

TEST_MAIN()
