/*
 * One thread at a time per connection. Adds what rebuild_difference_find found to the books, in transactions of few
 * rows, so that nobody who counts waits for long. Rows come in the order in which the consumer takes them. Whatever
 * ends it half-way, another look finds what is left.
 */
#ifndef WAYMARK_TOOLS_REBUILD_STATS_REBUILD_REPAIR_H
#define WAYMARK_TOOLS_REBUILD_STATS_REBUILD_REPAIR_H

#include "lib/base/err.h"
#include "lib/net/pg_conn.h"

/* Once per connection, after rebuild_difference_prepare. */
enum err rebuild_repair_prepare(struct pg_conn *conn) MUST_CHECK;

/* A link that was purged since it was looked at gets nothing. ERR_CONFLICT: deadlocks, again and again. */
enum err rebuild_repair_add(struct pg_conn *conn) MUST_CHECK;

#endif
