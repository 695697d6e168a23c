/*
 * SELECTs on the packed roll-ups (db/migrations/0015_packed_rollups.sql). Each one reads a piece of
 * a time range from rollup_hour or rollup_day, and what is not folded yet from rollup_delta. Rows
 * have humans, bots and uniques; several rows may have the same key, so the caller adds them up.
 *
 * link is an SQL expression, "$1::bigint" or "ANY (…)". columns are leading columns with a trailing
 * comma, or "".
 *
 * One thread at a time.
 */
#ifndef WAYMARK_LIB_CLICKS_ROLLUP_SQL_H
#define WAYMARK_LIB_CLICKS_ROLLUP_SQL_H

#include "lib/clicks/statistics_range.h"
#include "lib/clicks/visit_dimension.h"
#include "lib/clicks/visit_sql.h"

/* Totals of whole hours or days. columns may name link_id. */
void rollup_sql_add_totals(struct visit_sql *sql, const char *columns, const char *link,
                           const struct statistics_piece *piece);

/* Totals of quarters of an hour. columns may name link_id and bucket, the quarter's start. */
void rollup_sql_add_quarters(struct visit_sql *sql, const char *columns, const char *link,
                             const struct statistics_piece *piece);

/* Counts per value of whole hours or days; the first column is value. */
void rollup_sql_add_values(struct visit_sql *sql, enum visit_dimension dimension, const char *link,
                           const struct statistics_piece *piece);

#endif
