#include "tools/rebuild-stats/rebuild_repair.h"

#include <poll.h>
#include <stddef.h>

#include "lib/base/array.h"
#include "lib/clicks/rollup_table.h"
#include "lib/postgres/pg_pool.h"

/* Rows per transaction. */
#define STEP "500"
#define STEP_ROWS 500
#define TRIES 20
#define PAUSE_MS 50

static const char tables_sql[] =
	"CREATE TEMPORARY TABLE rebuild_rollup_step (LIKE rebuild_rollup);"
	"CREATE TEMPORARY TABLE rebuild_statistics_step (LIKE rebuild_statistics);";

/* Links: table_id 0 and 1. */
#define OF_LINKS "SELECT id AS link_id FROM rebuild_rollup_step WHERE table_id < 2"
#define OF_STATISTICS "SELECT link_id FROM rebuild_statistics_step"
/*
 * Keeps the links from being purged until the transaction ends. A purge would miss the added rows.
 */
#define LOCK_LINKS(ids) "SELECT FROM links WHERE id IN (" ids ") ORDER BY id FOR KEY SHARE"
#define IS_PURGED(id) id " > 0 AND NOT EXISTS (SELECT FROM links WHERE links.id = " id ")"
/*
 * The nightly sweep of purged links finds roll-ups through their row of link_statistics, so that
 * row must exist.
 */
#define CREATE_STATISTICS(ids)                                                                     \
	"INSERT INTO link_statistics (link_id) SELECT DISTINCT link_id FROM (" ids                 \
	") AS step ORDER BY link_id ON CONFLICT DO NOTHING"

static const char *const rollup_steps[] = {
	"TRUNCATE rebuild_rollup_step",
	"WITH chosen AS (SELECT DISTINCT table_id, id, hour FROM rebuild_rollup ORDER BY 1, 2, 3 LIMIT " STEP
	"), taken AS (DELETE FROM rebuild_rollup AS r USING chosen AS c WHERE (r.table_id, r.id, r.hour) = "
	"(c.table_id, c.id, c.hour) RETURNING r.*) INSERT INTO rebuild_rollup_step SELECT * FROM taken",
	LOCK_LINKS(OF_LINKS),
	"DELETE FROM rebuild_rollup_step AS step WHERE table_id < 2 AND " IS_PURGED("step.id"),
	CREATE_STATISTICS(OF_LINKS),
};

/* The columns of ROLLUP_TABLE_COLUMNS. */
#define LIST(NAME, name)                                                                           \
	", string_agg(concat_ws(E'\\x1f', humans, bots, uniques, value), E'\\x1e') "               \
	"FILTER (WHERE dimension = '" #name "')"
static const char changes_sql[] =
	"SELECT id, hour" LIST(QUARTERS, quarters) VISIT_DIMENSION_ROLLED_UP(
		LIST) " FROM rebuild_rollup_step WHERE table_id = $1 GROUP BY 1, 2";

/*
 * b: what was counted since the comparison, which is the row's latency minus its old latency
 * (welford_merge reversed). It is merged with the new latency (welford_merge).
 */
static const char set_statistics_sql[] =
	"UPDATE link_statistics t SET visit_count = t.visit_count + step.humans, bot_count = t.bot_count + step.bots, "
	"unique_visitors = t.unique_visitors + step.uniques, "
	"last_visited_at = CASE WHEN t.last_visited_at IS NOT DISTINCT FROM step.old_last THEN step.new_last "
	"ELSE greatest(t.last_visited_at, step.new_last) END, "
	"latency_count = step.new_n + b.n, "
	"latency_mean_ms = CASE WHEN b.n = 0 THEN step.new_mean "
	"ELSE step.new_mean + (b.mean - step.new_mean) * b.n / (step.new_n + b.n) END, "
	"latency_m2 = CASE WHEN b.n = 0 THEN step.new_m2 "
	"ELSE step.new_m2 + b.m2 + (b.mean - step.new_mean) ^ 2 * step.new_n * b.n / (step.new_n + b.n) END, "
	"updated_at = clock_timestamp() "
	"FROM rebuild_statistics_step step JOIN link_statistics now USING (link_id) "
	"CROSS JOIN LATERAL (SELECT now.latency_count - step.old_n AS n, "
	"(now.latency_mean_ms * now.latency_count - step.old_mean * step.old_n) "
	"/ nullif(now.latency_count - step.old_n, 0) AS mean) more "
	"CROSS JOIN LATERAL (SELECT more.n, more.mean, greatest(0, now.latency_m2 - step.old_m2 "
	"- (more.mean - step.old_mean) ^ 2 * step.old_n * more.n / nullif(now.latency_count, 0)) AS m2) b "
	"WHERE t.link_id = step.link_id";

static const char *const statistics_steps[] = {
	"TRUNCATE rebuild_statistics_step",
	"WITH taken AS (DELETE FROM rebuild_statistics WHERE ctid = ANY (ARRAY(SELECT ctid FROM rebuild_statistics "
	"ORDER BY link_id LIMIT " STEP
	")) RETURNING *) INSERT INTO rebuild_statistics_step SELECT * FROM taken",
	LOCK_LINKS(OF_STATISTICS),
	"DELETE FROM rebuild_statistics_step AS step WHERE " IS_PURGED("step.link_id"),
	CREATE_STATISTICS(OF_STATISTICS),
	"SELECT FROM link_statistics WHERE link_id IN (SELECT link_id FROM rebuild_statistics_step) "
	"ORDER BY link_id FOR UPDATE",
	set_statistics_sql,
};

static enum err add_to(struct pg_conn *conn, enum rollup_table table)
{
	struct rollup_table_change changes[STEP_ROWS];
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	int64_t written = 0;
	int64_t entries = 0;
	pg_params_int(&params, table);
	enum err err = pg_conn_query(conn, changes_sql, &params, &rows);
	size_t count = pg_result_count(rows);
	for (size_t i = 0; i < count && i < STEP_ROWS; i++) {
		changes[i].id = pg_result_int(rows, i, 0);
		changes[i].start_us = pg_result_time(rows, i, 1);
		for (int list = 0; list < ROLLUP_TABLE_LISTS; list++)
			changes[i].lists[list] = pg_result_text(rows, i, 2 + list);
	}
	if (err == OK)
		err = rollup_table_add(conn, table, changes, count, &written, &entries);
	pg_result_free(rows);
	return err;
}

static enum err run_statements(struct pg_conn *conn, const char *const *statements, size_t count)
{
	enum err err = OK;
	for (size_t i = 0; err == OK && i < count; i++)
		err = pg_conn_query(conn, statements[i], NULL, NULL);
	return err;
}

static enum err add_rollups(void *ctx, struct pg_conn *conn)
{
	(void)ctx;
	enum err err = run_statements(conn, rollup_steps, ARRAY_SIZE(rollup_steps));
	for (enum rollup_table table = 0; err == OK && table < ROLLUP_TABLES; table++)
		err = add_to(conn, table);
	return err;
}

static enum err add_statistics(void *ctx, struct pg_conn *conn)
{
	(void)ctx;
	return run_statements(conn, statistics_steps, ARRAY_SIZE(statistics_steps));
}

/* A deadlock with a consumer rolls the whole step back, so that its rows are in the table again. */
static enum err run_step_with_retries(struct pg_conn *conn, pg_pool_work step)
{
	enum err err = pg_pool_transact_on(conn, step, NULL);
	for (int tries = 1; err == ERR_CONFLICT && tries < TRIES; tries++) {
		poll(NULL, 0, PAUSE_MS);
		err = pg_pool_transact_on(conn, step, NULL);
	}
	return err;
}

/* Repeats the step until no rows are left. */
static enum err add_all(struct pg_conn *conn, const char *left_sql, pg_pool_work step)
{
	int64_t left = 0;
	enum err err = pg_conn_query_int(conn, left_sql, NULL, &left);
	while (err == OK && left > 0) {
		err = run_step_with_retries(conn, step);
		if (err == OK)
			err = pg_conn_query_int(conn, left_sql, NULL, &left);
	}
	return err;
}

enum err rebuild_repair_prepare(struct pg_conn *conn)
{
	return pg_conn_script(conn, tables_sql);
}

enum err rebuild_repair_add(struct pg_conn *conn)
{
	enum err err =
		add_all(conn, "SELECT EXISTS (SELECT FROM rebuild_rollup)::integer", add_rollups);
	if (err == OK)
		err = add_all(conn, "SELECT EXISTS (SELECT FROM rebuild_statistics)::integer",
		              add_statistics);
	return err;
}
