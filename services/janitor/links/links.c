#include "services/janitor/links/links.h"

#include "lib/links/link_store.h"

/* A batch locks its rows from its statement to its commit. */
#define BATCH_TOO_LONG_US (30 * CLOCK_US_PER_MS)
#define BATCH_SHORT_US (15 * CLOCK_US_PER_MS)
#define ROWS_MIN 100
#define S_PER_DAY 86400
/* The pause between two batches is at most 1/20 s, so that the lock cannot expire during it. */
#define BATCHES_PER_S_MIN 20

static enum err mark_expired(const struct run *run, int64_t *changed)
{
	struct link_store_batch *batch = run->ctx;
	enum err err = link_store_expire_batch(run->conn, batch);
	*changed = batch->changed;
	return err;
}

static struct link_store_keep keep_of(const struct config *config)
{
	return (struct link_store_keep){
		.temporary_s = config->expired_grace_s,
		.expired_s = config->expired_keep_days * S_PER_DAY,
		.deleted_s = config->deleted_grace_s,
	};
}

static enum err tell_keep(const struct run *run, int64_t *changed)
{
	const struct link_store_keep keep = keep_of(run->config);
	return link_store_set_keep(run->conn, &keep, changed);
}

static enum err purge(const struct run *run, enum link_store_ended ended, int64_t *changed)
{
	struct link_store_batch *batch = run->ctx;
	const struct link_store_keep keep = keep_of(run->config);
	enum err err = link_store_purge_batch(run->conn, ended, &keep, batch);
	*changed = batch->changed;
	return err;
}

static enum err purge_temporary(const struct run *run, int64_t *changed)
{
	return purge(run, LINK_STORE_ENDED_TEMPORARY, changed);
}

static enum err purge_expired(const struct run *run, int64_t *changed)
{
	return purge(run, LINK_STORE_ENDED_EXPIRED, changed);
}

static enum err purge_deleted(const struct run *run, int64_t *changed)
{
	return purge(run, LINK_STORE_ENDED_DELETED, changed);
}

/* The size of the next batch. Other transactions that want one of its rows wait for the commit. */
static int64_t next_limit(int64_t limit, int64_t limit_max, int64_t took_us)
{
	if (took_us > BATCH_TOO_LONG_US && limit > ROWS_MIN)
		return limit / 2 > ROWS_MIN ? limit / 2 : ROWS_MIN;
	if (took_us < BATCH_SHORT_US)
		return limit * 5 / 4 < limit_max ? limit * 5 / 4 : limit_max;
	return limit;
}

static int64_t batch_limit_max(const struct config *config)
{
	int64_t per_batch = config->expiry_links_per_s / BATCHES_PER_S_MIN;
	if (per_batch > RUN_BATCH_ROWS)
		return RUN_BATCH_ROWS;
	return per_batch > 0 ? per_batch : 1;
}

/* Keeps to EXPIRY_LINKS_PER_S, which leaves PostgreSQL time for its other clients. */
static void pause_after_batch(const struct run *run, int64_t started_us, int64_t changed)
{
	int64_t per_s = run->config->expiry_links_per_s;
	int64_t left_us =
		started_us + changed * CLOCK_US_PER_S / per_s - clock_steady_us(run->clock);
	if (left_us > 0)
		shutdown_wait_ms(run->shutdown, (left_us + CLOCK_US_PER_MS - 1) / CLOCK_US_PER_MS);
}

/* Oldest links first, until a batch is not full or a shutdown is requested. */
static enum err run_all(struct run *run, run_work work, int64_t *changed)
{
	const int64_t limit_max = batch_limit_max(run->config);
	struct link_store_batch batch = { .limit = limit_max };
	bool is_full = true;
	enum err err = OK;
	run->ctx = &batch;
	while (err == OK && is_full && !run->is_interrupted) {
		int64_t started_us = clock_steady_us(run->clock);
		if (shutdown_requested(run->shutdown)) {
			run->is_interrupted = true;
		} else {
			err = run_batch(run, work, changed);
			is_full = batch.changed >= batch.limit;
			batch.limit = next_limit(batch.limit, limit_max,
			                         clock_steady_us(run->clock) - started_us);
			if (is_full)
				pause_after_batch(run, started_us, batch.changed);
		}
	}
	run->ctx = NULL;
	return err;
}

enum err links_expire(struct run *run, int64_t *changed)
{
	int64_t told = 0;
	enum err err = run_batch(run, tell_keep, &told);
	if (err == OK)
		err = run_all(run, mark_expired, changed);
	if (err == OK)
		err = run_all(run, purge_temporary, changed);
	if (err == OK)
		err = run_all(run, purge_expired, changed);
	if (err == OK)
		err = run_all(run, purge_deleted, changed);
	return err;
}

/* --- the task "lists" --- */

static enum err refresh_ranking(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, RUN_BATCH_ROWS);
	return pg_conn_query_int(run->conn, "SELECT link_ranking_refresh($1)", &params, changed);
}

/*
 * For workspaces whose links nobody lists, and for links of nobody: merges the rows of workspaces
 * that have more than 64. *changed: the rows saved. It samples 128 random pages: all of a small
 * table, and of a large one eventually the owners with the most rows. Nobody waits for it.
 */
static enum err merge_counts(const struct run *run, int64_t *changed)
{
	return pg_conn_query_int(
		run->conn,
		"WITH sampled AS MATERIALIZED (SELECT workspace_id FROM link_counts TABLESAMPLE SYSTEM ("
		"least(100, 100.0 * 128 / greatest(1, pg_relation_size('link_counts') / "
		"current_setting('block_size')::integer))) "
		"GROUP BY workspace_id ORDER BY count(*) DESC, random() LIMIT 1000), "
		"crowded AS MATERIALIZED (SELECT workspace_id FROM sampled WHERE 64 < (SELECT count(*) FROM ("
		"SELECT FROM link_counts AS c WHERE c.workspace_id = sampled.workspace_id LIMIT 65) AS first)), "
		"taken AS (SELECT id FROM link_counts WHERE workspace_id = ANY (ARRAY(SELECT workspace_id FROM crowded)) "
		"LIMIT 20000 FOR UPDATE SKIP LOCKED), "
		"gone AS (DELETE FROM link_counts WHERE id = ANY (ARRAY(SELECT id FROM taken)) "
		"RETURNING workspace_id, links), "
		"made AS (INSERT INTO link_counts (workspace_id, links) "
		"SELECT workspace_id, sum(links) FROM gone GROUP BY workspace_id RETURNING 1) "
		"SELECT (SELECT count(*) FROM gone) - (SELECT count(*) FROM made)",
		NULL, changed);
}

static enum err refresh_search(const struct run *run, int64_t *changed)
{
	*changed = 0;
	return pg_conn_query(run->conn, "SELECT link_search_refresh()", NULL, NULL);
}

enum err links_refresh_lists(struct run *run, int64_t *changed)
{
	int64_t merged = 0;
	enum err err = run_until_unchanged(run, refresh_ranking, changed);
	if (err == OK)
		err = run_batches(run, merge_counts, &merged);
	return err == OK ? run_batch(run, refresh_search, changed) : err;
}
