#include "services/janitor/expiry.h"

#include "lib/links/link_store.h"

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

/* From the earliest on. */
static enum err go_through(struct run *run, run_work work, int64_t *changed)
{
	struct link_store_batch batch = { .limit = RUN_BATCH_ROWS };
	run->own = &batch;
	enum err err = run_batches(run, work, changed);
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
