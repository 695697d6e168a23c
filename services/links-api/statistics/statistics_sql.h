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
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_STATISTICS_SQL_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_STATISTICS_SQL_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/clicks/statistics_sums.h"
#include "lib/links/link.h"
#include "lib/postgres/pg_conn.h"
#include "lib/postgres/sql_column.h"
#include "services/links-api/statistics/statistics_range.h"
#include "services/links-api/statistics/visit_filter.h"

#define STATISTICS_SQL_POINTS_MAX 2000
#define STATISTICS_SQL_VALUES_MAX 1000
#define STATISTICS_SQL_TOP_MAX 100

struct statistics_query {
	/* One of these. Several links are counted together. */
	int64_t link_id;
	/* SQL_COLUMN_INT8, or NULL. */
	struct sql_column *link_ids;
	/*
	 * What was counted for the account, whatever has become of the links since; 0 = none of
	 * them. statistics_sql_top: its links that are not deleted.
	 */
	int64_t account_id;
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

enum err statistics_sql_total(struct pg_conn *conn, struct statistics_query *query,
                              struct statistics_sums *out) MUST_CHECK;

/*
 * starts are the starts of the points, ascending, at most STATISTICS_SQL_POINTS_MAX. The first
 * one is no later than the quarter hour in which the range starts. A point ends where the next one
 * begins, and the last one with the range. out gets count sums, zeros for points without visits.
 */
enum err statistics_sql_series(struct pg_conn *conn, struct statistics_query *query,
                               const int64_t *starts, size_t count,
                               struct statistics_sums *out) MUST_CHECK;

struct statistics_value {
	/* "": unknown; "(other)": beyond the values that roll-ups keep */
	char value[VISIT_FILTER_VALUE_SIZE];
	struct statistics_sums sums;
};

/*
 * The most frequent values of a dimension, at most limit (up to STATISTICS_SQL_VALUES_MAX);
 * values must have room for them. Ties are ordered by bytes. total is the sum over all values.
 * Beyond ROLLUP_VALUES_MAX different values, the rarest count under "(other)" (rollup_values.h).
 */
enum err statistics_sql_values(struct pg_conn *conn, struct statistics_query *query,
                               enum visit_dimension dimension, size_t limit,
                               struct statistics_value *values, size_t *count,
                               struct statistics_sums *total) MUST_CHECK;

/*
 * The sums of the first count values, in their order, zeros for those without visits; total as
 * above.
 */
enum err statistics_sql_values_of(struct pg_conn *conn, struct statistics_query *query,
                                  enum visit_dimension dimension,
                                  const struct statistics_value *values, size_t count,
                                  struct statistics_sums *out,
                                  struct statistics_sums *total) MUST_CHECK;

struct statistics_top {
	int64_t link_id;
	char slug[SLUG_SIZE];
	char title[LINK_TITLE_SIZE];
	struct statistics_sums sums;
};

/*
 * The most visited of link_ids, or of the links of account_id, at most limit (up to
 * STATISTICS_SQL_TOP_MAX); links must have room for them. Deleted links, and links without visits
 * of the filter's traffic, are not listed. Ties are ordered by ID.
 */
enum err statistics_sql_top(struct pg_conn *conn, struct statistics_query *query, size_t limit,
                            struct statistics_top *links, size_t *count) MUST_CHECK;

#endif
