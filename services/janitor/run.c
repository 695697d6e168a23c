#include "services/janitor/run.h"

#include "lib/net/pg_transaction.h"

static void plan_extension(struct run *run)
{
	run->extend_at_us = clock_steady_us(run->clock) + run->at_most_ms * CLOCK_US_PER_MS / 2;
}

enum err run_start(struct run *run)
{
	if (run->at_most_ms < RUN_AT_MOST_MS_MIN || run->at_least_ms < 0 || run->at_least_ms > run->at_most_ms)
		return ERR_INVALID;
	run->interrupted = false;
	plan_extension(run);
	return fenced_lock_acquire(run->lock, run->conn, run->at_most_ms);
}

void run_end(struct run *run, bool is_whole)
{
	enum err err = fenced_lock_release(run->lock, run->conn, is_whole ? run->at_least_ms : 0);
	(void)err; /* then it runs out by itself */
}

static enum err extend_in_time(struct run *run)
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

static enum err do_batch_on(void *ctx, struct pg_conn *conn)
{
	struct batch *batch = ctx;
	enum err err = fenced_lock_check(batch->run->lock, conn);
	return err == OK ? batch->work(batch->run, &batch->rows) : err;
}

enum err run_batch(struct run *run, run_work work, int64_t *changed)
{
	struct batch batch = { .run = run, .work = work };
	enum err err = extend_in_time(run);
	if (err == OK)
		err = pg_transaction_on(run->conn, do_batch_on, &batch);
	if (err == OK)
		*changed += batch.rows;
	return err;
}

enum err run_batch_with(struct run *run, run_work work, void *own, int64_t *changed)
{
	run->own = own;
	enum err err = run_batch(run, work, changed);
	run->own = NULL;
	return err;
}

/* Batches until one changes fewer rows than that. */
static enum err repeat(struct run *run, run_work work, int64_t rows_least, int64_t *changed)
{
	int64_t before;
	enum err err;
	do {
		if (shutdown_requested(run->shutdown)) {
			run->interrupted = true;
			return OK;
		}
		before = *changed;
		err = run_batch(run, work, changed);
	} while (err == OK && *changed - before >= rows_least);
	return err;
}

enum err run_batches(struct run *run, run_work work, int64_t *changed)
{
	return repeat(run, work, RUN_BATCH_ROWS, changed);
}

enum err run_while_changing(struct run *run, run_work work, int64_t *changed)
{
	return repeat(run, work, 1, changed);
}
