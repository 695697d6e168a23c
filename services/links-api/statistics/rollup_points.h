/*
 * Adds roll-ups up to the points of a series. A point begins at a quarter of an hour (UTC) and ends
 * where the next one begins. Times are in microseconds since 1970-01-01T00:00:00Z.
 *
 * One thread at a time.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_ROLLUP_POINTS_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_ROLLUP_POINTS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/clicks/statistics_sums.h"
#include "services/links-api/statistics/statistics_range.h"

#define ROLLUP_POINTS_QUARTERS 96

struct rollup_points {
	/* Of the points, ascending; borrowed. */
	const int64_t *starts;
	size_t count;
	/* Borrowed. */
	struct statistics_sums *sums;
	/* Quarters outside of it are not counted. */
	struct statistics_span span;

	/* Where the quarters of this day belong; count: to no point. */
	/* -1: of no day. */
	int64_t day_us;
	size_t point_of[ROLLUP_POINTS_QUARTERS];
};

void rollup_points_init(struct rollup_points *points, const int64_t *starts, size_t count,
                        struct statistics_sums *sums);

/* Sets the sums to zero. */
void rollup_points_begin(struct rollup_points *points, struct statistics_span span);

/* Adds a bucket that lies within one point. A time before all points is not counted. */
enum err rollup_points_add(struct rollup_points *points, int64_t time_us,
                           const struct statistics_sums *sums) MUST_CHECK;

/* Adds a packed list of quarters of the UTC day of time_us. ERR_INVALID: it is broken. */
enum err rollup_points_add_quarters(struct rollup_points *points, int64_t time_us,
                                    const char *list) MUST_CHECK;

#endif
