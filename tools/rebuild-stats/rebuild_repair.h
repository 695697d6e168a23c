/*
 * One thread at a time per connection. Adds the differences of rebuild_difference_find to the
 * aggregate tables. Uses small transactions, so that consumers do not wait long, and the row order
 * of the consumer. After an interruption, another comparison finds what is left.
 */
#ifndef WAYMARK_TOOLS_REBUILD_STATS_REBUILD_REPAIR_H
#define WAYMARK_TOOLS_REBUILD_STATS_REBUILD_REPAIR_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"

/* Creates temporary tables, once per connection, after rebuild_difference_prepare. */
enum err rebuild_repair_prepare(struct pg_conn *conn) MUST_CHECK;

/* Skips links that were purged since the comparison. ERR_CONFLICT: too many deadlocks in a row. */
enum err rebuild_repair_add(struct pg_conn *conn) MUST_CHECK;

#endif
