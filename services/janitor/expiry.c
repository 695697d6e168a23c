#include "services/janitor/expiry.h"

#include "lib/links/link_store.h"

static enum err mark(const struct run *run, int64_t *changed)
{
	return link_store_expire_batch(run->conn, RUN_BATCH_ROWS, changed);
}

static enum err purge(const struct run *run, int64_t *changed)
{
	return link_store_purge_batch(run->conn, run->config->expired_grace_s, run->config->deleted_grace_s,
	                              RUN_BATCH_ROWS, changed);
}

enum err expiry_run(struct run *run, int64_t *changed)
{
	enum err err = run_batches(run, mark, changed);
	if (err == OK)
		err = run_batches(run, purge, changed);
	return err;
}
