/*
 * The tables of roll-ups (db/migrations): a row per link and hour, per link and UTC day, and the
 * same per workspace. Each row has a packed list per dimension (rollup_list.h). The janitor adds what
 * was counted, and rebuild-stats what a comparison with the visit log found.
 *
 * One thread at a time per connection, inside the caller's transaction.
 */
#ifndef WAYMARK_LIB_CLICKS_ROLLUP_TABLE_H
#define WAYMARK_LIB_CLICKS_ROLLUP_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/clicks/visit_dimension.h"
#include "lib/postgres/pg_conn.h"

/* Writers lock rows in this order, and in each table by id and start, so they cannot deadlock. */
enum rollup_table {
	ROLLUP_TABLE_LINK_HOURS,
	ROLLUP_TABLE_LINK_DAYS,
	ROLLUP_TABLE_WORKSPACE_HOURS,
	ROLLUP_TABLE_WORKSPACE_DAYS,
	ROLLUP_TABLES,
};

/* The lists of a row, by number of dimension. The first one has the totals, by quarter of an hour. */
#define ROLLUP_TABLE_LISTS VISIT_DIMENSION_LISTS
#define ROLLUP_TABLE_COLUMN(NAME, name) ", " #name
#define ROLLUP_TABLE_COLUMNS "quarters" VISIT_DIMENSION_ROLLED_UP(ROLLUP_TABLE_COLUMN)

/* What to add to a row. Counts may be negative. */
struct rollup_table_change {
	/* Of the link or the workspace. */
	int64_t id;
	/* When the hour or the day begins, in microseconds since 1970-01-01T00:00:00Z. */
	int64_t start_us;
	/* Borrowed; "" = nothing. */
	const char *lists[ROLLUP_TABLE_LISTS];
};

/*
 * Adds the changes, and sorts them. Several may be of the same row. Rows that do not exist are
 * made. Other writers wait until the transaction ends. A row's totals become the sums of its
 * quarters. ERR_INTERNAL also: a list is broken.
 * *written: rows written; *entries: of their lists.
 */
enum err rollup_table_add(struct pg_conn *conn, enum rollup_table table,
                          struct rollup_table_change *changes, size_t count, int64_t *written,
                          int64_t *entries) MUST_CHECK;

#endif
