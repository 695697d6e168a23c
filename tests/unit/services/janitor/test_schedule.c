#include <stdint.h>

#include "services/janitor/schedule.h"
#include "tests/support/test.h"

#define NOON_US (20000 * CLOCK_US_PER_DAY + 12 * CLOCK_US_PER_HOUR)

static const struct task_times slow = { .period_s = 900, .at_least_s = 600, .at_most_s = 840 };
static const struct task_times quick = { .period_s = 3600, .at_least_s = 10, .at_most_s = 60 };
static const struct task_times every_second = { .period_s = 1,
	                                        .at_least_s = 600,
	                                        .at_most_s = 840 };

static int64_t wait_ms(const struct task_times *times, int64_t left_ms, int64_t since_ms)
{
	const struct fenced_lock_state state = { left_ms, since_ms };
	return schedule_wait_ms(times, &state);
}

TEST_CASE(runs_again_after_its_period)
{
	assert_int_equal(schedule_delay_ms(&slow, SCHEDULE_DONE), 900000);
	assert_int_equal(schedule_delay_ms(&every_second, SCHEDULE_DONE), 1000);
}

TEST_CASE(starts_after_its_first_delay)
{
	const struct task_times times = { .period_s = 900, .first_delay_s = 60 };
	assert_int_equal(schedule_first_delay_us(&times, NOON_US), 60 * CLOCK_US_PER_S);
}

TEST_CASE(starts_at_its_time_of_day_if_it_has_one)
{
	const struct task_times nightly = { .period_s = 86400,
		                            .first_delay_s = 60,
		                            .after_midnight_s = 3 * 3600 };
	const struct task_times midnight = { .period_s = 86400, .after_midnight_s = 86400 };
	assert_int_equal(schedule_first_delay_us(&nightly, NOON_US), 15 * CLOCK_US_PER_HOUR);
	assert_int_equal(schedule_first_delay_us(&nightly, NOON_US + 14 * CLOCK_US_PER_HOUR),
	                 CLOCK_US_PER_HOUR);
	assert_int_equal(schedule_first_delay_us(&nightly, NOON_US + 15 * CLOCK_US_PER_HOUR), 0);
	assert_int_equal(schedule_first_delay_us(&nightly, NOON_US + 15 * CLOCK_US_PER_HOUR + 1),
	                 CLOCK_US_PER_DAY - 1);
	assert_int_equal(schedule_first_delay_us(&midnight, NOON_US), 12 * CLOCK_US_PER_HOUR);
}

TEST_CASE(keeps_the_lock_for_at_most_two_thirds_of_the_period)
{
	assert_int_equal(schedule_at_least_s(&slow), 600);
	assert_int_equal(schedule_at_least_s(&quick), 10);
	assert_int_equal(schedule_at_least_s(&every_second), 0);
}

TEST_CASE(takes_over_once_the_lock_of_a_crashed_janitor_expires)
{
	assert_int_equal(wait_ms(&slow, 839000, 1000), 839000);
	assert_int_equal(wait_ms(&slow, 1, 839999), 1);
	assert_int_equal(wait_ms(&slow, 0, 840000), 0);
	assert_true(wait_ms(&slow, -5000, 845000) <= 0);
	/* Also after an extension. */
	assert_int_equal(wait_ms(&slow, 830000, 430000), 830000);
	assert_int_equal(wait_ms(&quick, 20000, 40000), 20000);
	assert_int_equal(wait_ms(&every_second, 839000, 1000), 1000);
}

TEST_CASE(waits_for_the_next_period_after_a_complete_run_of_another_janitor)
{
	assert_int_equal(wait_ms(&slow, 590000, 10000), 890000);
	assert_int_equal(wait_ms(&slow, -100000, 700000), 200000);
	assert_int_equal(wait_ms(&slow, -300000, 900000), 0);
	assert_int_equal(wait_ms(&quick, 5000, 5000), 3595000);
	assert_true(wait_ms(&quick, -4000000, 4000010) <= 0);
}

TEST_CASE(continues_at_once_after_an_incomplete_run_of_another_janitor)
{
	assert_true(wait_ms(&slow, -1000, 3000) <= 0);
	assert_true(wait_ms(&quick, 0, 9999) <= 0);
}

TEST_CASE(never_waits_longer_than_its_period)
{
	assert_int_equal(wait_ms(&slow, 86400000, 0), 900000);
	assert_int_equal(wait_ms(&quick, 30000, -86400000), 30000);
}

TEST_CASE(retries_soon_after_a_failure_and_at_the_latest_after_its_period)
{
	assert_int_equal(schedule_delay_ms(&slow, SCHEDULE_FAILED), 5000);
	assert_int_equal(schedule_delay_ms(&slow, SCHEDULE_UNREACHABLE), 1000);
	assert_int_equal(schedule_delay_ms(&every_second, SCHEDULE_FAILED), 1000);
}

TEST_MAIN()
