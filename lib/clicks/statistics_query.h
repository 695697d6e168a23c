/*
 * One thread at a time per connection. Counts of a link's visits over a range of time: of finished days from
 * visit_rollup_day and visit_total_day, else from visit_rollup_hour and _quarter, and at the range's edges from visit_log,
 * so that any range is exact. Counts with a filter, and those of dimensions that are not rolled up, come from visit_log alone. Each answer is one statement: all of it is of
 * one moment.
 *
 * Where the log does not reach back any more, ends of the range move down to whole buckets (a quarter of an hour for
 * totals and series, an hour for dimensions); counted says which range it was.
 *
 * Errors beside those of pg_conn_query. ERR_NOT_FOUND: only visit_log could tell, and it does not reach back to the range's
 * start; log_since_us says since when it does. ERR_LIMIT: also, there are too many visits in it to be looked at in time.
 */
#ifndef WAYMARK_LIB_CLICKS_STATISTICS_QUERY_H
#define WAYMARK_LIB_CLICKS_STATISTICS_QUERY_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/clicks/statistics_range.h"
#include "lib/clicks/visit_filter.h"
#include "lib/links/link.h"
#include "lib/net/pg_conn.h"

#define STATISTICS_QUERY_POINTS_MAX 2000
#define STATISTICS_QUERY_VALUES_MAX 1000
#define STATISTICS_QUERY_TOP_MAX 100

struct statistics_sums {
	int64_t humans;
	int64_t bots;
	int64_t uniques; /* visits that were the first of their visitor to the link on their UTC day; never a bot's */
};

struct statistics_question {
	int64_t link_id;
	struct statistics_span asked;      /* from_us < to_us */
	const struct visit_filter *filter; /* terms choose what is counted; who chooses what is listed, and its order */
	struct statistics_span counted;    /* out */
	int64_t log_since_us;              /* out; 0: everything is there */
	struct statistics_span
		finished; /* out: of which days there are totals; values are there of all before its end */
};

enum err statistics_query_total(struct pg_conn *conn, struct statistics_question *question,
                                struct statistics_sums *out) MUST_CHECK;

/*
 * starts: of the points, ascending, at most STATISTICS_QUERY_POINTS_MAX, the first one no later than the quarter of an
 * hour in which the range starts; a point
 * ends where the next begins, and the last one with the range. out gets count sums, zeroes where nothing was.
 */
enum err statistics_query_series(struct pg_conn *conn, struct statistics_question *question, const int64_t *starts,
                                 size_t count, struct statistics_sums *out) MUST_CHECK;

struct statistics_value {
	char value[VISIT_FILTER_VALUE_SIZE]; /* "": not known */
	struct statistics_sums sums;
};

/*
 * The most frequent values of a dimension, at most limit (to STATISTICS_QUERY_VALUES_MAX), for which values has room;
 * equal ones by their bytes. total: of all values.
 */
enum err statistics_query_values(struct pg_conn *conn, struct statistics_question *question,
                                 enum visit_dimension dimension, size_t limit, struct statistics_value *values,
                                 size_t *count, struct statistics_sums *total) MUST_CHECK;

struct statistics_top {
	int64_t link_id;
	char slug[SLUG_SIZE];
	char title[LINK_TITLE_SIZE];
	struct statistics_sums sums;
};

/*
 * The owner's most visited links, at most limit (to STATISTICS_QUERY_TOP_MAX), for which links has room: none that is
 * deleted, none without visits of those that the filter's who means; equal ones by id. The filter has no terms; link_id
 * means nothing.
 */
enum err statistics_query_top(struct pg_conn *conn, struct statistics_question *question, int64_t owner_id,
                              size_t limit, struct statistics_top *links, size_t *count) MUST_CHECK;

/* Since when the visit log is whole, 0: nothing was ever dropped. */
enum err statistics_query_log_since(struct pg_conn *conn, int64_t *since_us) MUST_CHECK;

#endif
