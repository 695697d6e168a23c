#include "services/links-api/outbox/outbox_pace.h"

#include "lib/base/clock.h"

#define PORTIONS_PER_SECOND 20.0

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

/* At least one row, at most what is read together. */
static double portion(const struct outbox_pace *pace)
{
	double rows = pace->per_second / PORTIONS_PER_SECOND;
	return smaller(rows < 1 ? 1 : rows, pace->most);
}

static double tokens_at(const struct outbox_pace *pace, int64_t now_us)
{
	double come = pace->per_second * (double)(now_us - pace->filled_us) / (double)CLOCK_US_PER_S;
	return smaller(pace->tokens + come, pace->most);
}

void outbox_pace_init(struct outbox_pace *pace, int64_t per_second, int64_t most, int64_t now_us)
{
	*pace = (struct outbox_pace){ .per_second = (double)per_second, .most = (double)most, .filled_us = now_us };
}

int64_t outbox_pace_allowance(struct outbox_pace *pace, int64_t now_us)
{
	pace->tokens = tokens_at(pace, now_us);
	pace->filled_us = now_us;
	return pace->tokens >= portion(pace) ? (int64_t)pace->tokens : 0;
}

void outbox_pace_spend(struct outbox_pace *pace, int64_t rows)
{
	pace->tokens -= (double)rows;
}

int64_t outbox_pace_wait_ms(const struct outbox_pace *pace, int64_t now_us)
{
	double missing = portion(pace) - tokens_at(pace, now_us);
	double ms = missing / pace->per_second * 1000;
	return ms > 0 ? 1 + (int64_t)ms : 1;
}
