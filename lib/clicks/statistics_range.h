/*
 * Pure. How a range of time is put together from what is stored: whole days and hours of the roll-ups, quarters of an
 * hour for totals, and single visits of the log at the edges. Times are microseconds since 1970-01-01T00:00:00Z, ends
 * are exclusive.
 */
#ifndef WAYMARK_LIB_CLICKS_STATISTICS_RANGE_H
#define WAYMARK_LIB_CLICKS_STATISTICS_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STATISTICS_RANGE_QUARTER_US INT64_C(900000000)

struct statistics_span {
	int64_t from_us, to_us; /* from_us >= to_us: nothing */
};

/* Each moment of the range is in log or in rolled, and what is in rolled, in hours or in days, where they are used. */
struct statistics_range {
	struct statistics_span log[2];
	struct statistics_span rolled; /* everything that log does not have */
	struct statistics_span hours[2];
	struct statistics_span days;
};

bool statistics_range_is_empty(const struct statistics_span *span);

/*
 * The range as it can be counted: an end that is before log_since_us, where only roll-ups are left, moves down to the
 * start of its bucket, so that ranges that meet still meet. bucket_us divides a day.
 */
struct statistics_span statistics_range_countable(struct statistics_span asked, int64_t bucket_us,
                                                  int64_t log_since_us);

/* For counts of one dimension: rolled = hours and days together, from a whole hour to a whole hour. */
struct statistics_range statistics_range_of_dimension(struct statistics_span span);

/* For totals: rolled is what visit_rollup_quarter has; hours and days are empty. */
struct statistics_range statistics_range_of_total(struct statistics_span span);

#endif
