/*
 * One thread at a time per connection, inside the caller's transaction. The partitions of
 * visit_log, one per UTC day, and the strays: rows in the default partition. Works through the
 * functions of db/migrations/0006_visit_log.sql, because the janitor does not own the table. Days
 * count from 1970-01-01.
 *
 * A statement that blocks readers and writers waits at most PARTITION_STORE_LOCK_TIMEOUT_MS for its
 * locks, because every later query queues behind it. ERR_LIMIT: it did not get them; try again.
 */
#ifndef WAYMARK_SERVICES_JANITOR_RETENTION_PARTITION_STORE_H
#define WAYMARK_SERVICES_JANITOR_RETENTION_PARTITION_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"

#define PARTITION_STORE_LOCK_TIMEOUT_MS 1000

/*
 * The days that have a partition: all from today to newest, and those from oldest on for which
 * clicks have arrived.
 */
struct partition_store_window {
	int32_t oldest;
	int32_t today;
	int32_t newest;
};

enum partition_store_outcome {
	PARTITION_STORE_NONE_MISSING,
	PARTITION_STORE_CREATED,
	PARTITION_STORE_NEEDS_SORTING, /* too many strays to move at once, or they are being sorted
	                                  already */
};

/* Creates the oldest missing partition and moves its strays into it. */
enum err partition_store_create(struct pg_conn *conn, const struct partition_store_window *window,
                                enum partition_store_outcome *outcome) MUST_CHECK;

/*
 * Sorting moves many strays with little blocking. Call, each in a transaction of its own:
 *
 *     sort_begin       once; continues a sort that was interrupted
 *     sort_copy        until it copies fewer than limit rows
 *     sort_catch_up    until it copies fewer than limit rows that arrived meanwhile
 *     sort_finish      if *finished is false, more than limit rows arrived: catch up again
 *
 * Only sort_finish blocks readers and writers.
 */
enum err partition_store_sort_begin(struct pg_conn *conn,
                                    const struct partition_store_window *window) MUST_CHECK;
enum err partition_store_sort_copy(struct pg_conn *conn, int64_t limit, int64_t *rows) MUST_CHECK;
enum err partition_store_sort_catch_up(struct pg_conn *conn, int64_t limit,
                                       int64_t *rows) MUST_CHECK;
enum err partition_store_sort_finish(struct pg_conn *conn, int64_t limit,
                                     bool *finished) MUST_CHECK;

/* Deletes at most limit strays of days before oldest. */
enum err partition_store_delete_expired_strays(struct pg_conn *conn, int32_t oldest, int64_t limit,
                                               int64_t *rows) MUST_CHECK;

/* Drops the oldest partition of a day before oldest, if there is one. */
enum err partition_store_drop(struct pg_conn *conn, int32_t oldest, bool *dropped) MUST_CHECK;

#endif
