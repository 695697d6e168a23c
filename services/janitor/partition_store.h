/*
 * One thread at a time per connection; inside the caller's transaction. The partitions of visit_log, one per UTC day,
 * and what strays into its default partition: through the functions of db/migrations/0009_visit_log_calendar.sql, as
 * the janitor does not own the table. Days are days since 1970-01-01.
 *
 * What has to keep readers and writers waiting waits for them no longer than PARTITION_STORE_WAIT_MS itself, because
 * whoever comes later queues up behind: ERR_LIMIT, try again.
 */
#ifndef WAYMARK_SERVICES_JANITOR_PARTITION_STORE_H
#define WAYMARK_SERVICES_JANITOR_PARTITION_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/net/pg_conn.h"

#define PARTITION_STORE_WAIT_MS 1000

/* The days that have a partition: today to newest, and those from oldest on for which clicks have come. */
struct partition_store_window {
	int32_t oldest;
	int32_t today;
	int32_t newest;
};

enum partition_store_outcome {
	PARTITION_STORE_NONE_MISSING,
	PARTITION_STORE_MADE,
	PARTITION_STORE_CROWDED, /* the default partition has to be sorted for it, or is being sorted */
};

/* Makes one missing partition, the oldest, and moves into it what came before it. */
enum err partition_store_make(struct pg_conn *conn, const struct partition_store_window *window,
                              enum partition_store_outcome *outcome) MUST_CHECK;

/*
 * Sorting: begin (goes on with one that was left), copy until fewer than limit, then catch up until fewer than limit,
 * then finish, which wants catching up again if more than limit rows have come meanwhile. Only finish keeps anybody
 * waiting.
 */
enum err partition_store_sort_begin(struct pg_conn *conn, const struct partition_store_window *window) MUST_CHECK;
enum err partition_store_sort_copy(struct pg_conn *conn, int64_t limit, int64_t *rows) MUST_CHECK;
enum err partition_store_sort_catch_up(struct pg_conn *conn, int64_t limit, int64_t *rows) MUST_CHECK;
enum err partition_store_sort_finish(struct pg_conn *conn, int64_t limit, bool *finished) MUST_CHECK;

/* Deletes at most limit rows of the default partition whose day is before oldest. */
enum err partition_store_forget_astray(struct pg_conn *conn, int32_t oldest, int64_t limit, int64_t *rows) MUST_CHECK;

/* Drops the oldest partition of a day before oldest, if there is one. */
enum err partition_store_drop(struct pg_conn *conn, int32_t oldest, bool *dropped) MUST_CHECK;

#endif
