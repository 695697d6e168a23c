#include "services/janitor/links/link_lists.h"

static enum err refresh_ranking(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, RUN_BATCH_ROWS);
	return pg_conn_query_int(run->conn, "SELECT link_ranking_refresh($1)", &params, changed);
}

static enum err merge_counts(const struct run *run, int64_t *changed)
{
	return pg_conn_query_int(run->conn, "SELECT link_counts_merge()", NULL, changed);
}

static enum err flush_search_indexes(const struct run *run, int64_t *changed)
{
	*changed = 0;
	return pg_conn_query(run->conn, "SELECT links_search_flush()", NULL, NULL);
}

static enum err sample_trigrams(const struct run *run, int64_t *changed)
{
	*changed = 0;
	return pg_conn_query(run->conn, "SELECT link_search_sample()", NULL, NULL);
}

enum err link_lists_run(struct run *run, int64_t *changed)
{
	int64_t merged = 0;
	enum err err = run_until_unchanged(run, refresh_ranking, changed);
	if (err == OK)
		err = run_batches(run, merge_counts, &merged);
	if (err == OK)
		err = run_batch(run, flush_search_indexes, changed);
	return err == OK ? run_batch(run, sample_trigrams, changed) : err;
}
