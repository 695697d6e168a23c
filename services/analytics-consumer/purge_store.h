/*
 * One thread at a time per connection. Deletes the roll-ups and statistics of purged links
 * (db/migrations/0015_purged_statistics.sql). The visit log and the platform's totals stay.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_PURGE_STORE_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_PURGE_STORE_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/net/pg_conn.h"
#include "lib/net/sql_column.h"

/*
 * Deletes some rows of the purged links that had these slugs, in its own transaction. *rows: how
 * many; 0 = none is left. Slugs of links that are not purged are ignored. ERR_CONFLICT, ERR_LIMIT:
 * transient, try again.
 */
enum err purge_store_delete_some(struct pg_conn *conn, struct sql_column *slugs, int64_t *rows) MUST_CHECK;

#endif
