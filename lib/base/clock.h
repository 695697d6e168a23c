/*
 * The source of time, replaceable in tests. Wall time is in microseconds since
 * 1970-01-01T00:00:00Z. Steady time never goes back; only differences of it mean something.
 *
 * Safe from any thread.
 */
#ifndef WAYMARK_LIB_BASE_CLOCK_H
#define WAYMARK_LIB_BASE_CLOCK_H

#include <stdint.h>

#define CLOCK_US_PER_MS INT64_C(1000)
#define CLOCK_US_PER_S INT64_C(1000000)
#define CLOCK_US_PER_HOUR (3600 * CLOCK_US_PER_S)
#define CLOCK_US_PER_DAY (24 * CLOCK_US_PER_HOUR)

struct clock {
	int64_t (*now_us)(const struct clock *self);
	int64_t (*steady_us)(const struct clock *self);
};

/* The machine's clocks (CLOCK_REALTIME, CLOCK_MONOTONIC). */
const struct clock *clock_system(void);

static inline int64_t clock_now_us(const struct clock *c)
{
	return c->now_us(c);
}

static inline int64_t clock_steady_us(const struct clock *c)
{
	return c->steady_us(c);
}

/* The day of a wall time, as days since 1970-01-01 (UTC). Times before are rounded down, too. */
int32_t clock_utc_day(int64_t now_us);

#endif
