/*
 * One thread at a time per connection. Where the books differ from the visit log: statistics and roll-ups of some links
 * compared with what their rows in visit_log add up to, in one snapshot. What is found waits in two temporary tables,
 * as how much is to be added to a row of a book.
 *
 * That amount is right for ever: a batch of the consumer adds the same to the log and to the books, in one transaction,
 * so their difference stays what it was, whatever is counted between the look and the repair. A day that is finished in
 * between would be made of hours that the repair has not come to: whoever repairs keeps days from being finished.
 *
 * Compared are the days that the log has: from the day of visit_log_reach and from its oldest partition on (all, when
 * nothing was ever dropped or forgotten), without those whose partition was detached. Roll-ups of other days are all that is left of them and stay as they are. A link with such
 * days keeps its latency and the later of two last visits; its visits become the sum of its quarters.
 */
#ifndef WAYMARK_TOOLS_REBUILD_STATS_REBUILD_DIFFERENCE_H
#define WAYMARK_TOOLS_REBUILD_STATS_REBUILD_DIFFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/net/pg_conn.h"

/* The row of link_statistics that counts all links together, also those that are gone. */
#define REBUILD_DIFFERENCE_PLATFORM INT64_C(0)

enum rebuild_difference_table {
	REBUILD_QUARTERS = 1,
	REBUILD_HOURS,
	REBUILD_DAY_TOTALS, /* of finished days, and so are the values */
	REBUILD_DAY_VALUES,
	REBUILD_STATISTICS,
	REBUILD_TABLES
};

/* Rows that differ, by book; the platform's row counts as one of REBUILD_STATISTICS. */
struct rebuild_difference {
	int64_t rows[REBUILD_TABLES];
};

/* Once per connection: the tables. */
enum err rebuild_difference_prepare(struct pg_conn *conn) MUST_CHECK;

/* Since when the log is whole, as text: "2026-11-21", or "-infinity" when nothing of it was ever dropped. */
enum err rebuild_difference_begin_of_log(struct pg_conn *conn, char *out, size_t size) MUST_CHECK;

/* Looks anew at the links from first to last that exist; what was found before is forgotten. */
enum err rebuild_difference_find(struct pg_conn *conn, int64_t first, int64_t last,
                                 struct rebuild_difference *out) MUST_CHECK;

/* The same of the platform. ERR_NOT_FOUND: days of the log are gone, so that nobody can tell. */
enum err rebuild_difference_find_platform(struct pg_conn *conn, struct rebuild_difference *out) MUST_CHECK;

int64_t rebuild_difference_sum(const struct rebuild_difference *difference);

#endif
