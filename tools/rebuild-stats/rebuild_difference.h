/*
 * One thread at a time per connection. Finds where the aggregate tables differ from the visit log.
 * Compares the statistics and roll-ups of some links, or the roll-ups of some accounts, with the
 * sums of their rows in visit_log, in one snapshot. The differences go into two temporary tables,
 * as the amounts to add to each row.
 *
 * These amounts stay valid. A consumer adds each batch to the log and to rollup_delta in one
 * transaction, and the janitor folds without changing a sum, so the difference does not change,
 * whatever happens between the comparison and the repair.
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
#include "lib/clicks/rollup_table.h"
#include "lib/postgres/pg_conn.h"

/* The row of link_statistics for all links together, including deleted ones. */
#define REBUILD_DIFFERENCE_PLATFORM INT64_C(0)

enum rebuild_difference_scope { REBUILD_DIFFERENCE_LINKS, REBUILD_DIFFERENCE_ACCOUNTS };

/* The number of different entries per table of roll-ups, and of different rows. */
struct rebuild_difference {
	int64_t rows[ROLLUP_TABLES];
	/* Of link_statistics, with the platform's. */
	int64_t statistics;
};

/* Creates the temporary tables, once per connection. */
enum err rebuild_difference_prepare(struct pg_conn *conn) MUST_CHECK;

/*
 * The first day from which the log is complete: "2026-11-21", or "-infinity" if nothing was ever
 * dropped.
 */
enum err rebuild_difference_log_start(struct pg_conn *conn, char *out, size_t size) MUST_CHECK;

/* Compares the existing links or accounts from first to last. Discards earlier differences. */
enum err rebuild_difference_find(struct pg_conn *conn, enum rebuild_difference_scope scope,
                                 int64_t first, int64_t last,
                                 struct rebuild_difference *out) MUST_CHECK;

/* Compares the platform's row. ERR_NOT_FOUND: not possible, because days of the log are gone. */
enum err rebuild_difference_find_platform(struct pg_conn *conn,
                                          struct rebuild_difference *out) MUST_CHECK;

int64_t rebuild_difference_sum(const struct rebuild_difference *difference);

#endif
