/*
 * One thread at a time per connection. Adds aggregated visits to the roll-up tables: per link and
 * quarter of an hour (visit_rollup_quarter), and per link, dimension, value and hour
 * (visit_rollup_hour). Visits of days that the janitor has finished are also added by UTC day
 * (visit_total_day, visit_rollup_day).
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

/*
 * Adds sums, the result of the last rollup_sum of rollup. Tables and rows are written in a fixed
 * order, so that two writers cannot deadlock. Waits while another process finishes one of the days;
 * until the transaction ends, no process can finish one of them.
 */
enum err rollup_store_add(struct rollup_store *store, struct pg_conn *conn, struct rollup *rollup,
                          const struct rollup_sums *sums) MUST_CHECK;

/*
 * Deletes some rows of the purged links that had these slugs: their roll-ups and statistics, but
 * neither their visits nor the platform's totals. Slugs of links that are not purged are ignored.
 * Runs in its own transaction. *rows: the number of deleted rows; 0 = none is left. ERR_CONFLICT,
 * ERR_LIMIT: transient, try again.
 */
enum err rollup_store_delete_purged(struct pg_conn *conn, struct sql_column *slugs,
                                    int64_t *rows) MUST_CHECK;

#endif
