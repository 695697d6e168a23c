/*
 * Visit counts of a link, of several together, or of an account, over a time range, exact for any
 * range. Whole days, hours and quarters of an hour come from the packed roll-ups
 * (db/migrations/0007_rollups.sql), what is not folded yet from rollup_delta, and the edges of the
 * range from visit_log.
 * Counts with a filter, and counts by a dimension that is not rolled up, come from visit_log alone.
 * Each result is one statement, so it is a consistent snapshot.
 *
 * Where visit_log no longer reaches back, the ends of the range move down to what is stored
 * (statistics_range.h). counted returns the range that was really counted.
 *
 * Errors besides those of pg_conn_query. ERR_NOT_FOUND: the query needs visit_log, which does not
 * reach back to the start of the range; reach.log_since_us says how far. ERR_LIMIT also means
 * that the range has too many visits to be read in time.
 *
 * One thread at a time per connection.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_STATISTICS_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/clicks/statistics_sums.h"
#include "lib/links/link.h"
#include "lib/postgres/pg_conn.h"
#include "lib/postgres/sql_column.h"
#include "services/links-api/statistics/statistics_range.h"
#include "services/links-api/statistics/visit_filter.h"

#define STATISTICS_POINTS_MAX 2000
#define STATISTICS_VALUES_MAX 1000
#define STATISTICS_TOP_MAX 100

struct statistics_query {
	/* One of these. Several links are counted together. */
	int64_t link_id;
	/* SQL_COLUMN_INT8, or NULL. */
	struct sql_column *link_ids;
	/*
	 * What was counted for the account, whatever has become of the links since; 0 = none of
	 * them. statistics_top: its links that are not deleted.
	 */
	int64_t workspace_id;
	/* from_us < to_us. */
	struct statistics_span requested;
	/*
	 * Its terms select what is counted; its traffic decides what is listed and in which order.
	 */
	const struct visit_filter *filter;

	/* Outputs. */
	struct statistics_span counted;
	struct statistics_reach reach;
};

enum err statistics_series_total(struct pg_conn *conn, struct statistics_query *query,
                                 struct statistics_sums *out) MUST_CHECK;

/*
 * starts are the starts of the points, ascending, at most STATISTICS_POINTS_MAX. The first
 * one is no later than the quarter hour in which the range starts. A point ends where the next one
 * begins, and the last one with the range. out gets count sums, zeros for points without visits.
 */
enum err statistics_series(struct pg_conn *conn, struct statistics_query *query,
                           const int64_t *starts, size_t count,
                           struct statistics_sums *out) MUST_CHECK;

struct statistics_value {
	/* "": unknown; "(other)": beyond the values that roll-ups keep */
	char value[VISIT_FILTER_VALUE_SIZE];
	struct statistics_sums sums;
};

/*
 * The most frequent values of a dimension, at most limit (up to STATISTICS_VALUES_MAX);
 * values must have room for them. Ties are ordered by bytes. total is the sum over all values.
 * Beyond STATISTICS_VALUES_KEPT_MAX different values, the rarest count under "(other)".
 */
enum err statistics_values(struct pg_conn *conn, struct statistics_query *query,
                           enum visit_dimension dimension, size_t limit,
                           struct statistics_value *values, size_t *count,
                           struct statistics_sums *total) MUST_CHECK;

/*
 * The sums of the first count values, in their order, zeros for those without visits; total as
 * above.
 */
enum err statistics_values_of(struct pg_conn *conn, struct statistics_query *query,
                              enum visit_dimension dimension, const struct statistics_value *values,
                              size_t count, struct statistics_sums *out,
                              struct statistics_sums *total) MUST_CHECK;

struct statistics_top {
	int64_t link_id;
	char slug[SLUG_SIZE];
	char title[LINK_TITLE_SIZE];
	struct statistics_sums sums;
};

/*
 * The most visited of link_ids, or of the links of workspace_id, at most limit (up to
 * STATISTICS_TOP_MAX); links must have room for them. Deleted links, and links without visits
 * of the filter's traffic, are not listed. Ties are ordered by ID.
 */
enum err statistics_top(struct pg_conn *conn, struct statistics_query *query, size_t limit,
                        struct statistics_top *links, size_t *count) MUST_CHECK;

/*
 * --- parts of statistics_series: adds roll-ups up to the points of a series. A point begins at a quarter
 * of an hour (UTC) and ends where the next one begins. Times are in microseconds since
 * 1970-01-01T00:00:00Z. ---
 */

#define STATISTICS_SERIES_QUARTERS 96

struct statistics_series {
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
	size_t point_of[STATISTICS_SERIES_QUARTERS];
};

void statistics_series_init(struct statistics_series *points, const int64_t *starts, size_t count,
                            struct statistics_sums *sums);

/* Sets the sums to zero. */
void statistics_series_begin(struct statistics_series *points, struct statistics_span span);

/* Adds a bucket that lies within one point. A time before all points is not counted. */
enum err statistics_series_add(struct statistics_series *points, int64_t time_us,
                               const struct statistics_sums *sums) MUST_CHECK;

/* Adds a packed list of quarters of the UTC day of time_us. ERR_INVALID: it is broken. */
enum err statistics_series_add_quarters(struct statistics_series *points, int64_t time_us,
                                        const char *list) MUST_CHECK;

/*
 * --- parts of statistics_values: adds the packed lists of a dimension up to visits per value. Visits
 * without a value, "", are the totals of the roll-ups minus their lists.
 *
 * The memory is bounded. Beyond STATISTICS_VALUES_KEPT_MAX values, or STATISTICS_VALUES_TEXT_MAX bytes of
 * them, the half with the most visits is kept, and the others count under "(other)", as in a list.
 * Values that are named in advance stay exact. ---
 */

#define STATISTICS_VALUES_KEPT_MAX 100000
#define STATISTICS_VALUES_TEXT_MAX ((size_t)8 * 1024 * 1024)

struct statistics_values;

struct statistics_values *statistics_values_new(void);
void statistics_values_free(struct statistics_values *values);

/* Call it for each value before anything else is added. Other values are then not kept. */
void statistics_values_name(struct statistics_values *values, const char *value);

/* Adds a row of roll-ups; list may be "". ERR_INVALID: the list is broken. */
enum err statistics_values_add_list(struct statistics_values *values,
                                    const struct statistics_sums *totals,
                                    const char *list) MUST_CHECK;

/* Adds visits with one value. ERR_INVALID: the value is too long, or the sums are. */
enum err statistics_values_add(struct statistics_values *values, const char *value,
                               const struct statistics_sums *sums) MUST_CHECK;

/*
 * Computes the visits without a value. Call it once, when everything is added. ERR_INVALID: no such
 * number of visits exists.
 */
enum err statistics_values_finish(struct statistics_values *values) MUST_CHECK;

/* --- after statistics_values_finish --- */

/* The sums of one value, zeros if it is not there. */
struct statistics_sums statistics_values_sums(const struct statistics_values *values,
                                              const char *value);

struct statistics_values_item {
	/* Borrowed from values. */
	const char *value;
	struct statistics_sums sums;
};

/*
 * The values with the most visits of the traffic, at most limit; items must have room for them.
 * Ties are ordered by bytes. Values without such visits are left out.
 */
size_t statistics_values_top(const struct statistics_values *values,
                             enum visit_filter_traffic traffic, size_t limit,
                             struct statistics_values_item *items);

#endif
