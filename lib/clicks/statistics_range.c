#include "lib/clicks/statistics_range.h"

#include "lib/base/clock.h"

/* Times are never before 1970: timestamp_parse refuses them. */
static int64_t round_down(int64_t time_us, int64_t bucket_us)
{
	return time_us - time_us % bucket_us;
}

static int64_t round_up(int64_t time_us, int64_t bucket_us)
{
	return round_down(time_us + bucket_us - 1, bucket_us);
}

bool statistics_range_is_empty(const struct statistics_span *span)
{
	return span->from_us >= span->to_us;
}

struct statistics_span statistics_range_countable(struct statistics_span span, int64_t bucket_us,
                                                  int64_t log_since_us)
{
	if (span.from_us < log_since_us)
		span.from_us = round_down(span.from_us, bucket_us);
	if (span.to_us < log_since_us)
		span.to_us = round_down(span.to_us, bucket_us);
	return span;
}

/* Splits span into whole buckets and its two edges. */
static void split_edges(struct statistics_span span, int64_t bucket_us,
                        struct statistics_span *whole, struct statistics_span edges[static 2])
{
	*whole = (struct statistics_span){ round_up(span.from_us, bucket_us),
		                           round_down(span.to_us, bucket_us) };
	if (statistics_range_is_empty(whole)) {
		*whole = (struct statistics_span){ 0, 0 };
		edges[0] = span;
		edges[1] = *whole;
		return;
	}
	edges[0] = (struct statistics_span){ span.from_us, whole->from_us };
	edges[1] = (struct statistics_span){ whole->to_us, span.to_us };
}

/* The whole finished days in a span of whole buckets. */
static struct statistics_span whole_days(struct statistics_span rolled,
                                         struct statistics_span finished)
{
	struct statistics_span days = { round_up(rolled.from_us, CLOCK_US_PER_DAY),
		                        round_down(rolled.to_us, CLOCK_US_PER_DAY) };
	if (days.from_us < finished.from_us)
		days.from_us = finished.from_us;
	if (days.to_us > finished.to_us)
		days.to_us = finished.to_us;
	return days;
}

struct statistics_range statistics_range_split(struct statistics_span span, int64_t bucket_us,
                                               struct statistics_span finished)
{
	struct statistics_range range = { 0 };
	split_edges(span, bucket_us, &range.rolled, range.log);
	struct statistics_span days = whole_days(range.rolled, finished);
	if (statistics_range_is_empty(&days)) {
		range.buckets[0] = range.rolled;
		return range;
	}
	range.days = days;
	range.buckets[0] = (struct statistics_span){ range.rolled.from_us, days.from_us };
	range.buckets[1] = (struct statistics_span){ days.to_us, range.rolled.to_us };
	return range;
}
