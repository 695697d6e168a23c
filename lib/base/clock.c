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

static int64_t fake_now_us(const struct clock *self)
{
	return atomic_load(&((const struct clock_fake *)self)->now);
}

static int64_t fake_steady_us(const struct clock *self)
{
	return atomic_load(&((const struct clock_fake *)self)->steady);
}

void clock_fake_init(struct clock_fake *fake, int64_t now_us)
{
	fake->clock = (struct clock){ .now_us = fake_now_us, .steady_us = fake_steady_us };
	atomic_init(&fake->now, now_us);
	/* Differs from the wall time, so that code that confuses the two fails its test. */
	atomic_init(&fake->steady, CLOCK_US_PER_HOUR);
}

void clock_fake_advance(struct clock_fake *fake, int64_t by_us)
{
	atomic_fetch_add(&fake->now, by_us);
	atomic_fetch_add(&fake->steady, by_us);
}

int32_t clock_utc_day(int64_t now_us)
{
	int64_t day = now_us / CLOCK_US_PER_DAY;
	if (now_us % CLOCK_US_PER_DAY < 0)
		day--;
	return (int32_t)day;
}
