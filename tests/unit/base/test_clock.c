#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "lib/base/clock.h"
#include "tests/support/clock_fake.h"
#include "tests/support/test.h"

TEST_CASE(reads_the_wall_time_of_the_machine)
{
	int64_t before_s = time(NULL);
	int64_t now_us = clock_now_us(clock_system());
	assert_true(now_us / CLOCK_US_PER_S >= before_s);
	assert_true(now_us / CLOCK_US_PER_S <= before_s + 60);
}

TEST_CASE(steady_time_never_goes_back)
{
	int64_t last = clock_steady_us(clock_system());
	for (int i = 0; i < 1000; i++) {
		int64_t next = clock_steady_us(clock_system());
		assert_true(next >= last);
		last = next;
	}
}

TEST_CASE(fake_clock_moves_only_when_advanced)
{
	struct clock_fake fake;
	clock_fake_init(&fake, 1000);
	int64_t steady = clock_steady_us(&fake.clock);
	assert_int_equal(clock_now_us(&fake.clock), 1000);
	assert_int_equal(clock_now_us(&fake.clock), 1000);
	clock_fake_advance(&fake, 5 * CLOCK_US_PER_S);
	assert_int_equal(clock_now_us(&fake.clock), 5001000);
	assert_int_equal(clock_steady_us(&fake.clock) - steady, 5000000);
}

TEST_CASE(days_begin_at_midnight_before_and_after_1970)
{
	assert_int_equal(clock_utc_day(0), 0);
	assert_int_equal(clock_utc_day(CLOCK_US_PER_DAY - 1), 0);
	assert_int_equal(clock_utc_day(CLOCK_US_PER_DAY), 1);
	assert_int_equal(clock_utc_day(-1), -1);
	assert_int_equal(clock_utc_day(-CLOCK_US_PER_DAY), -1);
	assert_int_equal(clock_utc_day(-CLOCK_US_PER_DAY - 1), -2);
	assert_int_equal(clock_utc_day(INT64_C(1795132800000000)), 20777);
}

TEST_MAIN()
