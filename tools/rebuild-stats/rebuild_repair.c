#include "tools/rebuild-stats/rebuild_repair.h"

#include <poll.h>
#include <stddef.h>

#include "lib/base/array.h"
#include "lib/postgres/pg_transaction.h"

/* Rows per transaction. */
#define STEP "2000"
#define TRIES 20
#define PAUSE_MS 50

static const char tables_sql[] =
	"CREATE TEMPORARY TABLE rebuild_rollup_step (LIKE rebuild_rollup);"
	"CREATE TEMPORARY TABLE rebuild_statistics_step (LIKE rebuild_statistics);";

/*
 * Keeps the links from being purged until the transaction ends. A purge would miss the added rows.
 */
#define LOCK_LINKS(step)                                                                           \
	"SELECT FROM links WHERE id IN (SELECT link_id FROM " step ") ORDER BY id FOR KEY SHARE"
#define DROP_PURGED(step)                                                                          \
	"DELETE FROM " step                                                                        \
	" WHERE link_id > 0 AND NOT EXISTS (SELECT FROM links WHERE links.id = link_id)"
/*
 * The nightly sweep of purged links finds roll-ups through their row of link_statistics, so that
 * row must exist.
 */
#define CREATE_STATISTICS(step)                                                                    \
	"INSERT INTO link_statistics (link_id) SELECT DISTINCT link_id FROM " step                 \
	" ORDER BY link_id ON CONFLICT DO NOTHING"
/* Nobody else writes to these tables: the rebuild holds their lock. */
#define ADD(table, key, time, id)                                                                               \
	"DO $$ BEGIN EXECUTE rollup_add_sql('" table "', '" key "', 'SELECT link_id, " time                     \
	", dimension, value, humans, bots, uniques FROM rebuild_rollup_step WHERE table_id = " id               \
	" UNION ALL SELECT -owner_id, " time ", dimension, value, humans, bots, uniques FROM "                  \
	"rebuild_rollup_step JOIN rollup_account USING (link_id) WHERE owner_id <> 0 AND table_id = " id        \
	"'); END $$",                                                                                           \
		"DELETE FROM " table " AS t USING (SELECT DISTINCT link_id, " time                              \
		" FROM rebuild_rollup_step WHERE table_id = " id                                                \
		") AS step WHERE t.link_id = step.link_id AND t." key " = step." key                            \
		" AND coalesce(quarters, country, city, region, referrer_host, browser, os, device, language, " \
		"utm_source, utm_medium, utm_campaign) IS NULL"

/* Links that were never folded. Their accounts get the rows later. */
static const char note_new_links_sql[] =
	"WITH added AS (INSERT INTO rollup_account (link_id, owner_id) SELECT DISTINCT link_id, 0 FROM rebuild_rollup_step "
	"ON CONFLICT (link_id) DO NOTHING RETURNING link_id), "
	"owned AS (SELECT link_id, rollup_owner(link_id) AS owner_id FROM added) "
	"INSERT INTO rollup_move (owner_id, link_id) SELECT owner_id, link_id FROM owned WHERE owner_id <> 0";

static const char *const rollup_steps[] = {
	"TRUNCATE rebuild_rollup_step",
	"WITH taken AS (DELETE FROM rebuild_rollup WHERE ctid = ANY (ARRAY(SELECT ctid FROM rebuild_rollup "
	"ORDER BY table_id, link_id, hour LIMIT " STEP ")) RETURNING *) "
	"INSERT INTO rebuild_rollup_step SELECT * FROM taken",
	LOCK_LINKS("rebuild_rollup_step"),
	DROP_PURGED("rebuild_rollup_step"),
	CREATE_STATISTICS("rebuild_rollup_step"),
	note_new_links_sql,
	ADD("rollup_hour", "hour", "hour", "1"),
	ADD("rollup_day", "day", "timezone($q$UTC$q$, hour)::date AS day", "2"),
};

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
	LOCK_LINKS("rebuild_statistics_step"),
	DROP_PURGED("rebuild_statistics_step"),
	CREATE_STATISTICS("rebuild_statistics_step"),
	"SELECT FROM link_statistics WHERE link_id IN (SELECT link_id FROM rebuild_statistics_step) "
	"ORDER BY link_id FOR UPDATE",
	set_statistics_sql,
};

#define STEPS(array) (array), ARRAY_SIZE(array)

struct step {
	const char *const *statements;
	size_t count;
};

static enum err run_statements(void *ctx, struct pg_conn *conn)
{
	const struct step *step = ctx;
	enum err err = OK;
	for (size_t i = 0; err == OK && i < step->count; i++)
		err = pg_conn_query(conn, step->statements[i], NULL, NULL);
	return err;
}

static enum err run_step(struct pg_conn *conn, const char *const *steps, size_t count)
{
	struct step step = { steps, count };
	return pg_transaction_on(conn, run_statements, &step);
}

/* A deadlock with a consumer rolls the whole step back, so that its rows are in the table again. */
static enum err run_step_with_retries(struct pg_conn *conn, const char *const *steps, size_t count)
{
	enum err err = run_step(conn, steps, count);
	for (int tries = 1; err == ERR_CONFLICT && tries < TRIES; tries++) {
		poll(NULL, 0, PAUSE_MS);
		err = run_step(conn, steps, count);
	}
	return err;
}

/* Repeats the step until no rows are left. */
static enum err add_all(struct pg_conn *conn, const char *left_sql, const char *const *steps,
                        size_t count)
{
	int64_t left = 0;
	enum err err = pg_conn_query_int(conn, left_sql, NULL, &left);
	while (err == OK && left > 0) {
		err = run_step_with_retries(conn, steps, count);
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
	enum err err = add_all(conn, "SELECT EXISTS (SELECT FROM rebuild_rollup)::integer",
	                       STEPS(rollup_steps));
	if (err == OK)
		err = add_all(conn, "SELECT EXISTS (SELECT FROM rebuild_statistics)::integer",
		              STEPS(statistics_steps));
	return err;
}

enum err rebuild_repair_move_links(struct pg_conn *conn)
{
	int64_t moved = 0;
	enum err err;
	do
		err = pg_conn_query_int(conn, "SELECT rollup_move_some(" STEP ")", NULL, &moved);
	while (err == OK && moved > 0);
	return err;
}

enum err rebuild_repair_account(struct pg_conn *conn, int64_t account_id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, account_id);
	enum err err = pg_conn_query(conn, "SELECT rollup_account_reset($1)", &params, NULL);
	return err == OK ? rebuild_repair_move_links(conn) : err;
}
