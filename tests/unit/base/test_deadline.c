#include <errno.h>
#include <stdint.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/thread.h"
#include "tests/support/test.h"

static int64_t us_of(struct timespec moment)
{
	return moment.tv_sec * CLOCK_US_PER_S + moment.tv_nsec / 1000;
}

TEST_CASE(is_the_given_time_ahead)
{
	static const int64_t spans_ms[] = { 0, 1, 999, 1000, 1500, 59999, INT64_C(86400000) };
	for (size_t i = 0; i < ARRAY_SIZE(spans_ms); i++) {
		int64_t before_us = clock_steady_us(clock_system());
		struct timespec moment = thread_deadline_in_ms(spans_ms[i]);
		int64_t after_us = clock_steady_us(clock_system());
		assert_in_range(us_of(moment) - spans_ms[i] * CLOCK_US_PER_MS, before_us, after_us);
		assert_in_range(moment.tv_nsec, 0, 999999999);
	}
}

/* With the wall clock, the deadline would seem to be long past. */
TEST_CASE(ends_a_wait_at_the_deadline_and_not_before)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t never;
	thread_cond_init(&never);
	struct timespec until = thread_deadline_in_ms(20);
	pthread_mutex_lock(&mutex);
	int rc = 0;
	while (rc == 0)
		rc = pthread_cond_timedwait(&never, &mutex, &until);
	pthread_mutex_unlock(&mutex);
	assert_int_equal(rc, ETIMEDOUT);
	assert_true(clock_steady_us(clock_system()) >= us_of(until));
	pthread_cond_destroy(&never);
}

TEST_MAIN()
