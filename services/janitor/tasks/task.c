#include "services/janitor/tasks/task.h"

#define MS_PER_S INT64_C(1000)
#define UNREACHABLE_DELAY_MS 1000
#define FAILED_DELAY_MS 5000

static int64_t min_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t max_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

int64_t task_at_least_s(const struct task_times *times)
{
	return min_of(times->at_least_s, times->period_s * 2 / 3);
}

int64_t task_first_delay_us(const struct task_times *times, int64_t now_us)
{
	if (times->after_midnight_s == 0)
		return times->first_delay_s * CLOCK_US_PER_S;
	int64_t into_day_us = now_us - clock_utc_day(now_us) * CLOCK_US_PER_DAY;
	int64_t wait_us = times->after_midnight_s * CLOCK_US_PER_S - into_day_us;
	return wait_us < 0 ? wait_us + CLOCK_US_PER_DAY : wait_us;
}

int64_t task_delay_ms(const struct task_times *times, enum task_outcome outcome)
{
	int64_t period_ms = times->period_s * MS_PER_S;
	if (outcome == TASK_UNREACHABLE)
		return min_of(period_ms, UNREACHABLE_DELAY_MS);
	if (outcome == TASK_FAILED)
		return min_of(period_ms, FAILED_DELAY_MS);
	return period_ms;
}

/*
 * A holder sets the lock's end when it takes the lock and again when its run ends. So the time from
 * the lock's start to its end shows what the holder did. At least at_most_s: it is working or has
 * crashed. At least at_least_s: it completed a run. Less: it gave up early.
 */
int64_t task_wait_ms(const struct task_times *times, const struct fenced_lock_state *state)
{
	int64_t period_ms = times->period_s * MS_PER_S;
	int64_t lifetime_ms = state->left_ms + state->since_ms;
	int64_t wait_ms = state->left_ms;
	if (lifetime_ms < times->at_most_s * MS_PER_S &&
	    lifetime_ms >= task_at_least_s(times) * MS_PER_S)
		wait_ms = max_of(wait_ms, period_ms - state->since_ms);
	/* Another user of ShedLock may have written any time into the row. */
	return min_of(wait_ms, period_ms);
}
