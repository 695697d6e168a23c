/*
 * SELECTs on the packed roll-ups (db/migrations/0007_rollups.sql). Each one reads a piece of a time
 * range from rows by hour or by day, and what is not folded yet from rollup_delta. Several rows may
 * have the same key, so the caller adds them up. Packed lists of values and of series are returned
 * as they are: SQL needs 1.2 µs to take an entry apart, and rollup_list much less.
 *
 * columns are leading columns with a trailing comma, or "".
 *
 * One thread at a time.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_ROLLUP_SQL_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_ROLLUP_SQL_H

#include "lib/postgres/sql_column.h"
#include "services/links-api/statistics/statistics_range.h"
#include "services/links-api/statistics/visit_dimension.h"
#include "services/links-api/statistics/visit_sql.h"

/* Whose visits are counted: those of links, or those of an account. */
struct rollup_sql_scope {
	/* The tables of rows by hour and by day. */
	const char *hours, *days;
	/* The SQL conditions on them, on rollup_delta, and on visit_log. */
	const char *rows, *deltas, *visits;
};

/* humans, bots and uniques of whole hours or days. columns may name link_id, if links are counted. */
void rollup_sql_add_totals(struct visit_sql *sql, const char *columns,
                           const struct rollup_sql_scope *scope,
                           const struct statistics_piece *piece);

/*
 * The same of quarters of an hour of links. columns may name link_id and bucket, the quarter's
 * start.
 */
void rollup_sql_add_quarters(struct visit_sql *sql, const char *columns,
                             const struct rollup_sql_scope *scope,
                             const struct statistics_piece *piece);

/*
 * Counts per value of whole hours or days, for rollup_values: humans, bots and uniques of a row,
 * value (NULL), and the row's list.
 */
void rollup_sql_add_values(struct visit_sql *sql, enum visit_dimension dimension,
                           const struct rollup_sql_scope *scope,
                           const struct statistics_piece *piece);

struct rollup_sql_points {
	/* Ascending. */
	const int64_t *starts;
	/* At most STATISTICS_RANGE_POINTS_MAX. */
	size_t count;
};

/* Parameters of rollup_sql_add_series, for one piece. They live until the statement has run. */
struct rollup_sql_cuts {
	struct sql_column days, hours;
};

void rollup_sql_cuts_init(struct rollup_sql_cuts *cuts);
void rollup_sql_cuts_clear(struct rollup_sql_cuts *cuts);

/*
 * Counts of quarters of an hour, for rollup_points: the start of a day or an hour in seconds since
 * 1970; humans, bots and uniques; and a list of quarters. Days and hours within one point have
 * their totals and no list (NULL). The others have a list, which the caller restricts to the span.
 */
void rollup_sql_add_series(struct visit_sql *sql, const struct rollup_sql_scope *scope,
                           const struct statistics_piece *piece,
                           const struct rollup_sql_points *points, struct rollup_sql_cuts *cuts);

#endif
