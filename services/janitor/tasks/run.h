/*
 * One thread at a time. One run of a task under its lock.
 *
 * A run works in batches. Each batch is a transaction of its own that first checks the fencing
 * token. A janitor that was frozen or cut off while its lock passed to another therefore changes
 * nothing.
 *
 *     enum err err = run_start(&run);
 *     if (err == OK) {
 *             err = run_batches(&run, delete_old_rows, &changed);
 *             run_end(&run, err == OK && !run.is_interrupted);
 *     }
 */
#ifndef WAYMARK_SERVICES_JANITOR_TASKS_RUN_H
#define WAYMARK_SERVICES_JANITOR_TASKS_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/shutdown.h"
#include "lib/postgres/fenced_lock.h"
#include "services/janitor/tasks/config.h"

/* The most rows that one batch changes. */
#define RUN_BATCH_ROWS 1000
/* A shorter lock could expire before the next batch extends it. */
#define RUN_AT_MOST_MS_MIN 1000

struct metric;

/* Of mail_run. NULL: not counted. */
struct run_mail_metrics {
	struct metric *sent, *refused, *given_up, *failed_attempts;
};

struct run {
	const struct config *config;
	const struct clock *clock;
	struct shutdown *shutdown;
	const struct log *log;
	struct pg_conn *conn;
	struct fenced_lock *lock;
	/* A complete run keeps the lock this long after its start, however short it was. */
	int64_t at_least_ms;
	/* The lock expires after this time; extended when half of it is over. */
	int64_t at_most_ms;
	/* Steady; set by run_start. */
	int64_t extend_at_us;
	/* A shutdown was requested before the work was done. */
	bool is_interrupted;
	/* For the batch functions; set by the caller. */
	void *ctx;
	/* Of days_delete_old: entries deleted because of AUDIT_LOG_ENTRIES_MAX. NULL: not counted. */
	struct metric *audit_log_dropped;
	struct run_mail_metrics mail;
};

/*
 * Acquires the lock for at_most_ms. ERR_CONFLICT: another janitor holds it. ERR_INVALID: at_most_ms
 * is below RUN_AT_MOST_MS_MIN, or at_least_ms is negative or above at_most_ms.
 */
enum err run_start(struct run *run) MUST_CHECK;

/* Releases the lock; that of an incomplete run at once, so that another janitor goes on. */
void run_end(struct run *run, bool is_complete);

/* The work of one batch, inside its transaction. *changed receives the number of rows. */
typedef enum err (*run_work)(const struct run *run, int64_t *changed);

/*
 * Runs one batch and adds its rows to *changed after the commit. Extends the lock when half of its
 * time is over. ERR_CONFLICT: the lock was lost and the batch was rolled back.
 */
enum err run_batch(struct run *run, run_work work, int64_t *changed) MUST_CHECK;

/* Repeats batches until one changes fewer than RUN_BATCH_ROWS, or until a shutdown is requested. */
enum err run_batches(struct run *run, run_work work, int64_t *changed) MUST_CHECK;

/* Repeats batches until one changes nothing, or until a shutdown is requested. */
enum err run_until_unchanged(struct run *run, run_work work, int64_t *changed) MUST_CHECK;

/* run_batches of a DELETE. Adds RUN_BATCH_ROWS to params, which is the limit of the statement. */
enum err run_delete(struct run *run, const char *sql, struct pg_params *params,
                    int64_t *changed) MUST_CHECK;

#endif
