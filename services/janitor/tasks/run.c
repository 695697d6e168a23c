#include "services/janitor/tasks/run.h"

#include "lib/postgres/pg_pool.h"

static void plan_extension(struct run *run)
{
	run->extend_at_us = clock_steady_us(run->clock) + run->at_most_ms * CLOCK_US_PER_MS / 2;
}

enum err run_start(struct run *run)
{
	if (run->at_most_ms < RUN_AT_MOST_MS_MIN || run->at_least_ms < 0 ||
	    run->at_least_ms > run->at_most_ms)
		return ERR_INVALID;
	run->is_interrupted = false;
	plan_extension(run);
	return fenced_lock_acquire(run->lock, run->conn, run->at_most_ms);
}

void run_end(struct run *run, bool is_complete)
{
	enum err err =
		fenced_lock_release(run->lock, run->conn, is_complete ? run->at_least_ms : 0);
	(void)err; /* the lock expires by itself */
}

static enum err extend_if_due(struct run *run)
{
	if (clock_steady_us(run->clock) < run->extend_at_us)
		return OK;
	plan_extension(run);
	return fenced_lock_extend(run->lock, run->conn, run->at_most_ms);
}

struct batch {
	struct run *run;
	run_work work;
	int64_t rows;
};

static enum err execute_batch(void *ctx, struct pg_conn *conn)
{
	struct batch *batch = ctx;
	enum err err = fenced_lock_check(batch->run->lock, conn);
	return err == OK ? batch->work(batch->run, &batch->rows) : err;
}

enum err run_batch(struct run *run, run_work work, int64_t *changed)
{
	struct batch batch = { .run = run, .work = work };
	enum err err = extend_if_due(run);
	if (err == OK)
		err = pg_pool_transact_on(run->conn, execute_batch, &batch);
	if (err == OK)
		*changed += batch.rows;
	return err;
}

/* Repeats batches while each changes at least rows_min rows. */
static enum err repeat(struct run *run, run_work work, int64_t rows_min, int64_t *changed)
{
	int64_t before;
	enum err err;
	do {
		if (shutdown_requested(run->shutdown)) {
			run->is_interrupted = true;
			return OK;
		}
		before = *changed;
		err = run_batch(run, work, changed);
	} while (err == OK && *changed - before >= rows_min);
	return err;
}

enum err run_batches(struct run *run, run_work work, int64_t *changed)
{
	return repeat(run, work, RUN_BATCH_ROWS, changed);
}

enum err run_until_unchanged(struct run *run, run_work work, int64_t *changed)
{
	return repeat(run, work, 1, changed);
}

struct deletion {
	const char *sql;
	const struct pg_params *params;
};

static enum err delete_some(const struct run *run, int64_t *changed)
{
	const struct deletion *deletion = run->ctx;
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(run->conn, deletion->sql, deletion->params, &rows);
	if (err == OK)
		*changed = pg_result_changed(rows);
	pg_result_free(rows);
	return err;
}

enum err run_delete(struct run *run, const char *sql, struct pg_params *params, int64_t *changed)
{
	struct deletion deletion = { sql, params };
	pg_params_int(params, RUN_BATCH_ROWS);
	run->ctx = &deletion;
	enum err err = run_batches(run, delete_some, changed);
	run->ctx = NULL;
	return err;
}
