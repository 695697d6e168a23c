/*
 * One thread at a time per connection. What was counted of links that were purged
 * (db/migrations/0015_purged_statistics.sql): known visitors, roll-ups and statistics go; the visit log and the sums of
 * the platform stay.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_PURGE_STORE_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_PURGE_STORE_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/net/pg_conn.h"
#include "lib/net/sql_column.h"

/*
 * Deletes some rows of the links that had these slugs and are purged, in a transaction of its own; *rows: how many, 0 =
 * nothing is left. Slugs of other links are left alone. ERR_CONFLICT, ERR_LIMIT: passing, try again.
 */
enum err purge_store_forget_some(struct pg_conn *conn, struct sql_column *slugs, int64_t *rows) MUST_CHECK;

#endif
