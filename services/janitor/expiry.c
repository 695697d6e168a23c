#include "services/janitor/expiry.h"

#include "lib/links/link_store.h"

/* A batch's rows are locked from its statement to its commit. */
#define HELD_TOO_LONG_US (30 * CLOCK_US_PER_MS)
#define HELD_SHORTLY_US (15 * CLOCK_US_PER_MS)
#define ROWS_MIN 100

static enum err mark(const struct run *run, int64_t *changed)
{
	struct link_store_batch *batch = run->own;
	enum err err = link_store_expire_batch(run->conn, batch);
	*changed = batch->changed;
	return err;
}

static enum err purge_expired(const struct run *run, int64_t *changed)
{
	struct link_store_batch *batch = run->own;
	enum err err = link_store_purge_batch(run->conn, LINK_STATE_EXPIRED, run->config->expired_grace_s, batch);
	*changed = batch->changed;
	return err;
}

static enum err purge_deleted(const struct run *run, int64_t *changed)
{
	struct link_store_batch *batch = run->own;
	enum err err = link_store_purge_batch(run->conn, LINK_STATE_DELETED, run->config->deleted_grace_s, batch);
	*changed = batch->changed;
	return err;
}

/* How many rows the next batch may have: whoever wants one of them, its owner for instance, waits for the commit. */
static int64_t next_limit(int64_t limit, int64_t took_us)
{
	if (took_us > HELD_TOO_LONG_US)
		return limit / 2 > ROWS_MIN ? limit / 2 : ROWS_MIN;
	if (took_us < HELD_SHORTLY_US)
		return limit * 5 / 4 < RUN_BATCH_ROWS ? limit * 5 / 4 : RUN_BATCH_ROWS;
	return limit;
}

/* From the earliest on, until a batch is not full, or the program shall end. */
static enum err go_through(struct run *run, run_work work, int64_t *changed)
{
	struct link_store_batch batch = { .limit = RUN_BATCH_ROWS };
	bool is_full = true;
	enum err err = OK;
	run->own = &batch;
	while (err == OK && is_full && !run->interrupted) {
		int64_t began_us = clock_steady_us(run->clock);
		if (shutdown_requested(run->shutdown)) {
			run->interrupted = true;
		} else {
			err = run_batch(run, work, changed);
			is_full = batch.changed >= batch.limit;
			batch.limit = next_limit(batch.limit, clock_steady_us(run->clock) - began_us);
		}
	}
	run->own = NULL;
	return err;
}

enum err expiry_run(struct run *run, int64_t *changed)
{
	enum err err = go_through(run, mark, changed);
	if (err == OK)
		err = go_through(run, purge_expired, changed);
	if (err == OK)
		err = go_through(run, purge_deleted, changed);
	return err;
}
