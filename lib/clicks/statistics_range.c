#include "lib/clicks/statistics_range.h"

#include "lib/base/clock.h"

/* Times before 1970 do not come: timestamp_parse refuses them. */
static int64_t down(int64_t time_us, int64_t bucket_us)
{
	return time_us - time_us % bucket_us;
}

static int64_t up(int64_t time_us, int64_t bucket_us)
{
	return down(time_us + bucket_us - 1, bucket_us);
}

bool statistics_range_is_empty(const struct statistics_span *span)
{
	return span->from_us >= span->to_us;
}

struct statistics_span statistics_range_countable(struct statistics_span asked, int64_t bucket_us, int64_t log_since_us)
{
	if (asked.from_us < log_since_us)
		asked.from_us = down(asked.from_us, bucket_us);
	if (asked.to_us < log_since_us)
		asked.to_us = down(asked.to_us, bucket_us);
	return asked;
}

/* What whole buckets have, and the two edges. */
static void split(struct statistics_span span, int64_t bucket_us, struct statistics_span *whole,
                  struct statistics_span edges[static 2])
{
	*whole = (struct statistics_span){ up(span.from_us, bucket_us), down(span.to_us, bucket_us) };
	if (statistics_range_is_empty(whole)) {
		*whole = (struct statistics_span){ 0, 0 };
		edges[0] = span;
		edges[1] = *whole;
		return;
	}
	edges[0] = (struct statistics_span){ span.from_us, whole->from_us };
	edges[1] = (struct statistics_span){ whole->to_us, span.to_us };
}

/* The whole days of a span of whole buckets, as far as they are finished. */
static struct statistics_span days_of(struct statistics_span rolled, struct statistics_span finished)
{
	struct statistics_span days = { up(rolled.from_us, CLOCK_US_PER_DAY), down(rolled.to_us, CLOCK_US_PER_DAY) };
	if (days.from_us < finished.from_us)
		days.from_us = finished.from_us;
	if (days.to_us > finished.to_us)
		days.to_us = finished.to_us;
	return days;
}

struct statistics_range statistics_range_of(struct statistics_span span, int64_t bucket_us,
                                            struct statistics_span finished)
{
	struct statistics_range range = { 0 };
	split(span, bucket_us, &range.rolled, range.log);
	struct statistics_span days = days_of(range.rolled, finished);
	if (statistics_range_is_empty(&days)) {
		range.buckets[0] = range.rolled;
		return range;
	}
	range.days = days;
	range.buckets[0] = (struct statistics_span){ range.rolled.from_us, days.from_us };
	range.buckets[1] = (struct statistics_span){ days.to_us, range.rolled.to_us };
	return range;
}
