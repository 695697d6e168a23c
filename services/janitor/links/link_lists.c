#include "services/janitor/links/link_lists.h"

static enum err refresh_ranking(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, RUN_BATCH_ROWS);
	return pg_conn_query_int(run->conn, "SELECT link_ranking_refresh($1)", &params, changed);
}

/*
 * For owners that never list their links, and for links without an owner: merges the rows of owners
 * that have more than 64. *changed: the rows saved. It samples 128 random pages: all of a small
 * table, and of a large one eventually the owners with the most rows. Nobody waits for it.
 */
static enum err merge_counts(const struct run *run, int64_t *changed)
{
	return pg_conn_query_int(
		run->conn,
		"WITH sampled AS MATERIALIZED (SELECT owner_id FROM link_counts TABLESAMPLE SYSTEM ("
		"least(100, 100.0 * 128 / greatest(1, pg_relation_size('link_counts') / "
		"current_setting('block_size')::integer))) "
		"GROUP BY owner_id ORDER BY count(*) DESC, random() LIMIT 1000), "
		"crowded AS MATERIALIZED (SELECT owner_id FROM sampled WHERE 64 < (SELECT count(*) FROM ("
		"SELECT FROM link_counts AS c WHERE c.owner_id = sampled.owner_id LIMIT 65) AS first)), "
		"taken AS (SELECT id FROM link_counts WHERE owner_id = ANY (ARRAY(SELECT owner_id FROM crowded)) "
		"LIMIT 20000 FOR UPDATE SKIP LOCKED), "
		"gone AS (DELETE FROM link_counts WHERE id = ANY (ARRAY(SELECT id FROM taken)) "
		"RETURNING owner_id, links), "
		"made AS (INSERT INTO link_counts (owner_id, links) "
		"SELECT owner_id, sum(links) FROM gone GROUP BY owner_id RETURNING 1) "
		"SELECT (SELECT count(*) FROM gone) - (SELECT count(*) FROM made)",
		NULL, changed);
}

static enum err refresh_search(const struct run *run, int64_t *changed)
{
	*changed = 0;
	return pg_conn_query(run->conn, "SELECT link_search_refresh()", NULL, NULL);
}

enum err link_lists_run(struct run *run, int64_t *changed)
{
	int64_t merged = 0;
	enum err err = run_until_unchanged(run, refresh_ranking, changed);
	if (err == OK)
		err = run_batches(run, merge_counts, &merged);
	return err == OK ? run_batch(run, refresh_search, changed) : err;
}
