#include "lib/base/clock.h"

#include <time.h>

static int64_t read_us(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * CLOCK_US_PER_S + t.tv_nsec / 1000;
}

static int64_t system_now_us(const struct clock *self)
{
	(void)self;
	return read_us(CLOCK_REALTIME);
}

static int64_t system_steady_us(const struct clock *self)
{
	(void)self;
	return read_us(CLOCK_MONOTONIC);
}

const struct clock *clock_system(void)
{
	static const struct clock clock = { .now_us = system_now_us,
		                            .steady_us = system_steady_us };
	return &clock;
}

int32_t clock_utc_day(int64_t now_us)
{
	int64_t day = now_us / CLOCK_US_PER_DAY;
	if (now_us % CLOCK_US_PER_DAY < 0)
		day--;
	return (int32_t)day;
}
