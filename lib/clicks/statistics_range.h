/*
 * Pure. How a range of time is put together from what is stored: whole days of the roll-ups, as far as days are finished;
 * hours, or quarters of an hour for totals, where they are not; and single visits of the log at the edges. Times are microseconds since 1970-01-01T00:00:00Z, ends
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

/* Each moment of the range is in log or in rolled, and what is in rolled, in buckets or in days. */
struct statistics_range {
	struct statistics_span log[2];
	struct statistics_span rolled;     /* everything that log does not have */
	struct statistics_span buckets[2]; /* of an hour, or a quarter for totals */
	struct statistics_span days;
};

bool statistics_range_is_empty(const struct statistics_span *span);

/*
 * The range as it can be counted: an end that is before log_since_us, where only roll-ups are left, moves down to the
 * start of its bucket, so that ranges that meet still meet. bucket_us divides a day.
 */
struct statistics_span statistics_range_countable(struct statistics_span asked, int64_t bucket_us,
                                                  int64_t log_since_us);

/*
 * finished: which days are, from midnight to midnight (UTC); no others are in days. bucket_us is an hour for counts of one
 * dimension, STATISTICS_RANGE_QUARTER_US for totals.
 */
struct statistics_range statistics_range_of(struct statistics_span span, int64_t bucket_us,
                                            struct statistics_span finished);

#endif
