/*
 * One thread at a time per connection. Adds aggregated visits to the roll-ups: one row of
 * rollup_delta per link and hour, with a packed list per dimension
 * (db/migrations/0007_rollups.sql). Rows are only inserted, so writers never wait for each
 * other. The janitor folds them.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_ROLLUP_STORE_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_ROLLUP_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"
#include "lib/postgres/sql_column.h"
#include "services/analytics-consumer/storage/rollup.h"

struct rollup_store;

struct rollup_store *rollup_store_new(size_t visits_max);
void rollup_store_free(struct rollup_store *store);

/* Adds the result of rollup_sum. */
enum err rollup_store_add(struct rollup_store *store, struct pg_conn *conn,
                          const struct rollup_rows *rows) MUST_CHECK;

/*
 * Deletes some rows of the purged links that had these slugs: their roll-ups and statistics, but
 * neither their visits nor the platform's totals. Slugs of links that are not purged are ignored.
 * Runs in its own transaction. *rows: the number of deleted rows; 0 = none is left. ERR_CONFLICT,
 * ERR_LIMIT: transient, try again.
 */
enum err rollup_store_delete_purged(struct pg_conn *conn, struct sql_column *slugs,
                                    int64_t *rows) MUST_CHECK;

#endif
