/*
 * Splits a time range into the stored pieces that make it up: whole finished days, hours (or
 * quarter hours for totals) where days are not finished, and single visits of the log at the edges.
 * Times are in microseconds since 1970-01-01T00:00:00Z; ends are exclusive. Pure.
 */
#ifndef WAYMARK_LIB_CLICKS_STATISTICS_RANGE_H
#define WAYMARK_LIB_CLICKS_STATISTICS_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STATISTICS_RANGE_QUARTER_US INT64_C(900000000)

struct statistics_span {
	int64_t from_us, to_us; /* from_us >= to_us: empty */
};

/*
 * Every moment of the range is either in log or in rolled. Every moment of rolled is either in
 * buckets or in days.
 */
struct statistics_range {
	struct statistics_span log[2];
	struct statistics_span rolled;     /* everything outside log */
	struct statistics_span buckets[2]; /* hours, or quarter hours for totals */
	struct statistics_span days;
};

bool statistics_range_is_empty(const struct statistics_span *span);

/*
 * The range that can be counted. Before log_since_us only roll-ups exist, so an end before it moves
 * down to the start of its bucket. Adjacent ranges stay adjacent. bucket_us must divide a day.
 */
struct statistics_span statistics_range_countable(struct statistics_span span, int64_t bucket_us,
                                                  int64_t log_since_us);

/*
 * finished spans the finished days, from midnight to midnight (UTC); only these are put into days.
 * bucket_us is an hour for counts by a dimension, STATISTICS_RANGE_QUARTER_US for totals.
 */
struct statistics_range statistics_range_split(struct statistics_span span, int64_t bucket_us,
                                               struct statistics_span finished);

#endif
