/*
 * One thread at a time per connection. Finds where the aggregate tables differ from the visit log.
 * Compares the statistics and roll-ups of some links with the sums of their rows in visit_log, in
 * one snapshot. The differences go into two temporary tables, as the amounts to add to each row.
 *
 * These amounts stay valid. A consumer adds each batch to the log and to the aggregate tables in
 * one transaction, so the difference does not change, whatever is counted between the comparison
 * and the repair. One exception is a day that the janitor finishes in between: it would be
 * aggregated from hours that are not repaired yet. The caller must therefore keep days from being
 * finished.
 *
 * Only days that the log has are compared: from the day in visit_log_reach and from the oldest
 * partition on (all days if nothing was ever dropped), except days whose partition was detached.
 * Roll-ups of other days are all that is left of those days and stay unchanged. A link with such
 * days keeps its latency and the later one of two last visits; its visits become the sum of its
 * quarters.
 */
#ifndef WAYMARK_TOOLS_REBUILD_STATS_REBUILD_DIFFERENCE_H
#define WAYMARK_TOOLS_REBUILD_STATS_REBUILD_DIFFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"

/* The row of link_statistics for all links together, including deleted ones. */
#define REBUILD_DIFFERENCE_PLATFORM INT64_C(0)

enum rebuild_difference_table {
	REBUILD_HOURS = 1,
	REBUILD_DAYS, /* only finished ones */
	REBUILD_STATISTICS,
	REBUILD_ACCOUNTS, /* entries of their hours and days, against those of their links */
	REBUILD_TABLES
};

/* The number of different rows per table. The platform's row belongs to REBUILD_STATISTICS. */
struct rebuild_difference {
	int64_t rows[REBUILD_TABLES];
};

/* Creates the temporary tables, once per connection. */
enum err rebuild_difference_prepare(struct pg_conn *conn) MUST_CHECK;

/*
 * The first day from which the log is complete: "2026-11-21", or "-infinity" if nothing was ever
 * dropped.
 */
enum err rebuild_difference_log_start(struct pg_conn *conn, char *out, size_t size) MUST_CHECK;

/* Compares the existing links from first to last. Discards earlier differences. */
enum err rebuild_difference_find(struct pg_conn *conn, int64_t first, int64_t last,
                                 struct rebuild_difference *out) MUST_CHECK;

/* Compares the platform's row. ERR_NOT_FOUND: not possible, because days of the log are gone. */
enum err rebuild_difference_find_platform(struct pg_conn *conn,
                                          struct rebuild_difference *out) MUST_CHECK;

/* Compares the roll-ups of an account with the sums of those of its links. */
enum err rebuild_difference_find_account(struct pg_conn *conn, int64_t account_id,
                                         struct rebuild_difference *out) MUST_CHECK;

int64_t rebuild_difference_sum(const struct rebuild_difference *difference);

#endif
