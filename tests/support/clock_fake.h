/* A clock that moves only when a test advances it. Pass &fake.clock to the code under test. */
#ifndef WAYMARK_TESTS_SUPPORT_CLOCK_FAKE_H
#define WAYMARK_TESTS_SUPPORT_CLOCK_FAKE_H

#include <stdatomic.h>
#include <stdint.h>

#include "lib/base/clock.h"

struct clock_fake {
	struct clock clock;
	_Atomic int64_t now;
	_Atomic int64_t steady;
};

static inline int64_t clock_fake_now_us(const struct clock *self)
{
	return atomic_load(&((const struct clock_fake *)self)->now);
}

static inline int64_t clock_fake_steady_us(const struct clock *self)
{
	return atomic_load(&((const struct clock_fake *)self)->steady);
}

static inline void clock_fake_init(struct clock_fake *fake, int64_t now_us)
{
	fake->clock =
		(struct clock){ .now_us = clock_fake_now_us, .steady_us = clock_fake_steady_us };
	atomic_init(&fake->now, now_us);
	/* Differs from the wall time, so that code that confuses the two fails its test. */
	atomic_init(&fake->steady, CLOCK_US_PER_HOUR);
}

/* Advances both the wall time and the steady time. */
static inline void clock_fake_advance(struct clock_fake *fake, int64_t by_us)
{
	atomic_fetch_add(&fake->now, by_us);
	atomic_fetch_add(&fake->steady, by_us);
}

#endif
