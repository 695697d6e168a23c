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

struct statistics_range statistics_range_of_dimension(struct statistics_span span)
{
	struct statistics_range range = { 0 };
	split(span, CLOCK_US_PER_HOUR, &range.rolled, range.log);
	split(range.rolled, CLOCK_US_PER_DAY, &range.days, range.hours);
	return range;
}

struct statistics_range statistics_range_of_total(struct statistics_span span)
{
	struct statistics_range range = { 0 };
	split(span, STATISTICS_RANGE_QUARTER_US, &range.rolled, range.log);
	return range;
}
