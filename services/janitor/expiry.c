#include "services/janitor/expiry.h"

#include "lib/links/link_store.h"

/* A batch's rows are locked from its statement to its commit. */
#define HELD_TOO_LONG_US (30 * CLOCK_US_PER_MS)
#define HELD_SHORTLY_US (15 * CLOCK_US_PER_MS)
#define ROWS_MIN 100
/* A pause between two batches is no longer than this, or the lock might run out in it. */
#define RESTS_PER_S 20

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
static int64_t next_limit(int64_t limit, int64_t limit_max, int64_t took_us)
{
	if (took_us > HELD_TOO_LONG_US && limit > ROWS_MIN)
		return limit / 2 > ROWS_MIN ? limit / 2 : ROWS_MIN;
	if (took_us < HELD_SHORTLY_US)
		return limit * 5 / 4 < limit_max ? limit * 5 / 4 : limit_max;
	return limit;
}

static int64_t limit_at_most(const struct config *config)
{
	int64_t paced = config->expiry_links_per_s / RESTS_PER_S;
	if (config->expiry_links_per_s == 0 || paced > RUN_BATCH_ROWS)
		return RUN_BATCH_ROWS;
	return paced > 0 ? paced : 1;
}

/* Who else asks PostgreSQL, or shares its machine, has the rest of the time. */
static void rest(const struct run *run, int64_t began_us, int64_t changed)
{
	int64_t per_s = run->config->expiry_links_per_s;
	if (per_s == 0)
		return;
	int64_t left_us = began_us + changed * CLOCK_US_PER_S / per_s - clock_steady_us(run->clock);
	if (left_us > 0)
		shutdown_wait_ms(run->shutdown, (left_us + CLOCK_US_PER_MS - 1) / CLOCK_US_PER_MS);
}

/* From the earliest on, until a batch is not full, or the program shall end. */
static enum err go_through(struct run *run, run_work work, int64_t *changed)
{
	const int64_t limit_max = limit_at_most(run->config);
	struct link_store_batch batch = { .limit = limit_max };
	bool is_full = true;
	enum err err = OK;
	while (err == OK && is_full && !run->interrupted) {
		int64_t began_us = clock_steady_us(run->clock);
		if (shutdown_requested(run->shutdown)) {
			run->interrupted = true;
		} else {
			err = run_batch_with(run, work, &batch, changed);
			is_full = batch.changed >= batch.limit;
			batch.limit = next_limit(batch.limit, limit_max, clock_steady_us(run->clock) - began_us);
			if (is_full)
				rest(run, began_us, batch.changed);
		}
	}
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
