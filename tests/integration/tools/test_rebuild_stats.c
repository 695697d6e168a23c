/*
 * After a rebuild the aggregate tables equal the visit log, however they were damaged, even while
 * consumers count.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "lib/base/mem.h"
#include "services/janitor/retention/rollups.h"
#include "tests/support/test.h"
#include "tests/support/test_database.h"
#include "tools/rebuild-stats/rebuild.h"

#define VISITS 600

/*
 * Three days of visits to twenty links, with a value in every rolled-up dimension. They were
 * counted for a person's workspace, a shared one and none, whoever owns the link now.
 */
static const char visits_sql[] =
	"INSERT INTO users (email, password_hash) VALUES ('1@example.com', ''); INSERT INTO workspaces (name, sponsor_id) VALUES ('shared', 1);"
	"INSERT INTO links (slug, link_type, original_url, expires_at, created_at, workspace_id) "
	"SELECT 'rebuild-' || n, CASE WHEN n % 3 = 0 THEN 'TEMPORARY' ELSE 'PERMANENT' END, 'https://example.com/', "
	"now() + interval '8 hours', now() - interval '9 days', nullif(n % 3, 0) FROM generate_series(1, 20) n;"
	"SELECT visit_log_make_partition((now() AT TIME ZONE 'UTC')::date - n) FROM generate_series(0, 2) n;"
	"INSERT INTO visit_log (day, event_id, occurred_at, link_id, workspace_id, slug, status, latency_us, is_bot, is_unique, country, city, "
	"region, referrer_host, browser, os, device, language, utm_source, utm_medium, utm_campaign, rule, variant, alias, scan) "
	"SELECT (at AT TIME ZONE 'UTC')::date, gen_random_uuid(), at, (SELECT min(id) FROM links) + n % 20, (n + n / 20) % 3, 'rebuild', 302, "
	"100 + n * 7 % 5000, n % 5 = 0, n % 5 > 0 AND n % 3 = 0, (ARRAY['DE', 'FR', ''])[1 + n % 3], "
	"(ARRAY['Berlin', ''])[1 + n % 2], (ARRAY['DE-BE', ''])[1 + n % 2], (ARRAY['', 'news.example.com'])[1 + n % 2], "
	"(ARRAY['Chrome', 'Firefox', 'Safari'])[1 + n % 3], (ARRAY['Linux', 'Windows'])[1 + n % 2], 'desktop', 'de', "
	"(ARRAY['letter', ''])[1 + n % 2], 'email', (ARRAY['spring', 'a,\"b{'])[1 + n % 2], "
	"(ARRAY['Germans', ''])[1 + n % 2], (ARRAY['A', 'B'])[1 + n % 2], (ARRAY['old', ''])[1 + n % 2], (ARRAY['scan', ''])[1 + n % 2] "
	"FROM (SELECT n, date_trunc('day', now()) - interval '2 days' + n * interval '400 seconds' AS at FROM generate_series(1, 600) n) visit;";

/* Counts a visit as the consumer does: one transaction for the log and all aggregate tables. */
static const char count_visit_sql[] =
	"CREATE FUNCTION count_visit(link bigint, microseconds integer, at timestamptz DEFAULT clock_timestamp()) "
	"RETURNS integer LANGUAGE plpgsql AS $$ BEGIN "
	"INSERT INTO visit_log (day, event_id, occurred_at, link_id, workspace_id, slug, status, latency_us, is_bot, is_unique, browser) "
	"VALUES ((at AT TIME ZONE 'UTC')::date, gen_random_uuid(), at, link, link % 3, 'rebuild', 302, microseconds, false, true, 'Chrome'); "
	"INSERT INTO rollup_delta (link_id, workspace_id, hour, entries, humans, bots, uniques, quarters, browser) "
	"VALUES (link, link % 3, date_trunc('hour', at, 'UTC'), 2, 1, 0, 1, "
	"concat_ws(E'\\x1f', 1, 0, 1, floor(extract(epoch FROM at))::bigint / 900 % 96), concat_ws(E'\\x1f', 1, 0, 1, 'Chrome')); "
	"INSERT INTO link_statistics AS old (link_id, visit_count, unique_visitors, last_visited_at, latency_count, latency_mean_ms) "
	"SELECT id, 1, 1, at, 1, microseconds / 1000.0::float8 FROM unnest(ARRAY[0, link]) id ORDER BY id "
	"ON CONFLICT (link_id) DO UPDATE SET visit_count = old.visit_count + 1, unique_visitors = old.unique_visitors + 1, "
	"last_visited_at = greatest(old.last_visited_at, EXCLUDED.last_visited_at), latency_count = old.latency_count + 1, "
	"latency_mean_ms = old.latency_mean_ms + (EXCLUDED.latency_mean_ms - old.latency_mean_ms) / (old.latency_count + 1), "
	"latency_m2 = old.latency_m2 + (EXCLUDED.latency_mean_ms - old.latency_mean_ms) ^ 2 * old.latency_count "
	"/ (old.latency_count + 1); "
	"RETURN 1; END $$;";

/*
 * Each statement is a transaction, so that it waits for counting transactions but cannot deadlock
 * with them.
 */
static const char *const damage_sql[] = {
	"UPDATE rollup_hour SET humans = humans + 5 WHERE link_id % 3 = 0",
	"UPDATE rollup_hour SET browser = NULL, utm_campaign = NULL, rule = NULL WHERE link_id % 4 = 0",
	"UPDATE rollup_hour SET quarters = NULL WHERE link_id % 6 = 1",
	"UPDATE rollup_day SET os = replace(os, 'Linux', 'Plan 9'), variant = replace(variant, 'A', 'C'), scan = NULL, bots = 0, uniques = 7 WHERE link_id % 5 = 0",
	("UPDATE rollup_day SET city = concat_ws(E'\\x1e', city, concat_ws(E'\\x1f', 3, 0, 0, 'Atlantis')) "
	 "WHERE link_id = (SELECT min(id) FROM links)"),
	("INSERT INTO rollup_day (link_id, day, entries, humans, bots, uniques, quarters) SELECT min(id), current_date - 5, 1, 1, 0, 1, "
	 "concat_ws(E'\\x1f', 1, 0, 1, 7) FROM links ON CONFLICT DO NOTHING"),
	"DELETE FROM rollup_day WHERE link_id % 7 < 3",
	"UPDATE rollup_workspace_hour SET browser = NULL, uniques = 3 WHERE extract(hour FROM hour) < 9",
	"DELETE FROM rollup_workspace_day WHERE workspace_id = 1 AND day < current_date",
	"UPDATE link_statistics SET visit_count = visit_count - 1, latency_m2 = 0 WHERE link_id > 0 AND link_id % 2 = 0",
	"DELETE FROM link_statistics WHERE link_id = (SELECT max(id) FROM links)",
	"UPDATE link_statistics SET bot_count = bot_count + 1 WHERE link_id = 0",
};

/* A hash over everything that a rebuild may change. */
static const char aggregates_hash_sql[] =
	"SELECT hashtextextended(concat("
	"(SELECT string_agg(concat_ws(',', link_id, visit_count, bot_count, unique_visitors, last_visited_at, latency_count, "
	"round(latency_mean_ms::numeric, 6), round(latency_m2::numeric, 3)), ';' ORDER BY link_id) FROM link_statistics),"
	"(SELECT string_agg(h::text, ';' ORDER BY h::text) FROM (SELECT link_id, hour, dimension, value, sum(humans), sum(bots), "
	"sum(uniques) FROM rollup_hour_entries GROUP BY 1, 2, 3, 4) h),"
	"(SELECT string_agg(d::text, ';' ORDER BY d::text) FROM (SELECT link_id, day, dimension, value, sum(humans), sum(bots), "
	"sum(uniques) FROM rollup_day_entries GROUP BY 1, 2, 3, 4) d),"
	"(SELECT string_agg(t::text, ';' ORDER BY t::text) FROM (SELECT workspace_id, hour, dimension, value, sum(humans), "
	"sum(bots), sum(uniques) FROM rollup_workspace_hour_entries GROUP BY 1, 2, 3, 4) t),"
	"(SELECT string_agg(t::text, ';' ORDER BY t::text) FROM (SELECT workspace_id, day, humans, bots, uniques FROM rollup_workspace_day) t),"
	"(SELECT string_agg(t::text, ';' ORDER BY t::text) FROM (SELECT link_id, hour, humans, bots, uniques FROM rollup_hour "
	"WHERE entries > 0) t),"
	"(SELECT string_agg(t::text, ';' ORDER BY t::text) FROM (SELECT link_id, day, humans, bots, uniques FROM rollup_day "
	"WHERE entries > 0) t)), 0)";

static int make_visits(void **state)
{
	struct test_database *db = test_database_new();
	struct pg_conn *owner = test_database_connect(db, NULL);
	assert_int_equal(pg_conn_script(owner, visits_sql), OK);
	assert_int_equal(pg_conn_script(owner, count_visit_sql), OK);
	pg_conn_close(owner);
	*state = db;
	return 0;
}

static int drop(void **state)
{
	test_database_close(*state);
	return 0;
}

static enum err rebuild(struct test_database *db, int64_t link_id, bool check_only)
{
	const struct rebuild_options options = { .link_id = link_id, .check_only = check_only };
	struct pg_conn *conn = test_database_connect(db, NULL);
	enum err err = rebuild_run(conn, &options);
	if (err != OK && err != ERR_CONFLICT)
		print_message("%s\n", pg_conn_message(conn));
	pg_conn_close(conn);
	return err;
}

static void run(struct test_database *db, const char *script)
{
	struct pg_conn *conn = test_database_connect(db, NULL);
	assert_int_equal(pg_conn_script(conn, script), OK);
	pg_conn_close(conn);
}

static void damage(struct test_database *db)
{
	for (size_t i = 0; i < sizeof(damage_sql) / sizeof(damage_sql[0]); i++)
		run(db, damage_sql[i]);
}

static int64_t some_link(struct test_database *db)
{
	return test_database_ask(db, "SELECT min(id) FROM links");
}

/* Set-up of each test: empties the aggregate tables. */
static int reset(void **state)
{
	run(*state,
	    "TRUNCATE link_statistics, rollup_delta, rollup_hour, rollup_day, rollup_workspace_hour, rollup_workspace_day;"
	    "DELETE FROM visit_log WHERE city = '' AND utm_medium = ''");
	return 0;
}

static void fills_empty_aggregates_from_the_log(void **state)
{
	struct test_database *db = *state;
	assert_int_equal(rebuild(db, 0, true), ERR_CONFLICT);
	assert_int_equal(test_database_ask(db, "SELECT count(*) FROM link_statistics"), 0);
	assert_int_equal(rebuild(db, 0, false), OK);
	assert_int_equal(rebuild(db, 0, true), OK);
	static const char *const zeroes[] = {
		"SELECT count(*) FROM (SELECT link_id, count(*) FILTER (WHERE NOT is_bot), count(*) FILTER (WHERE is_bot), "
		"count(*) FILTER (WHERE is_unique), max(occurred_at), count(*) FROM visit_log GROUP BY 1 EXCEPT "
		"SELECT link_id, visit_count, bot_count, unique_visitors, last_visited_at, latency_count FROM link_statistics) x",
		"SELECT count(*) FROM (SELECT link_id, round((stddev_samp(latency_us) / 1000)::numeric, 6) FROM visit_log GROUP BY 1 "
		"EXCEPT SELECT link_id, round(sqrt(latency_m2 / (latency_count - 1))::numeric, 6) FROM link_statistics) x",
		"SELECT count(*) FROM (SELECT link_id, date_trunc('hour', occurred_at), utm_campaign, "
		"count(*) FILTER (WHERE NOT is_bot), count(*) FILTER (WHERE is_bot), count(*) FILTER (WHERE is_unique) "
		"FROM visit_log GROUP BY 1, 2, 3 EXCEPT SELECT link_id, hour, value, humans, bots, uniques "
		"FROM rollup_hour_entries WHERE dimension = 'utm_campaign') x",
		"SELECT count(*) FROM (SELECT link_id, day, city, count(*) FILTER (WHERE NOT is_bot), "
		"count(*) FILTER (WHERE is_bot), count(*) FILTER (WHERE is_unique) FROM visit_log WHERE city <> '' "
		"GROUP BY 1, 2, 3 EXCEPT SELECT link_id, day, value, humans, bots, uniques FROM rollup_day_entries "
		"WHERE dimension = 'city') x",
		"SELECT count(*) FROM (SELECT link_id, day, count(*) FILTER (WHERE NOT is_bot), "
		"count(*) FILTER (WHERE is_bot), count(*) FILTER (WHERE is_unique) FROM visit_log GROUP BY 1, 2 "
		"EXCEPT SELECT link_id, day, humans, bots, uniques FROM rollup_day) x",
		"SELECT count(*) FROM (SELECT workspace_id, day, count(*) FILTER (WHERE NOT is_bot), "
		"count(*) FILTER (WHERE is_bot), count(*) FILTER (WHERE is_unique) FROM visit_log "
		"WHERE workspace_id > 0 GROUP BY 1, 2 EXCEPT SELECT workspace_id, day, humans, bots, uniques FROM rollup_workspace_day) x",
		"SELECT count(*) - 2 FROM (SELECT DISTINCT workspace_id FROM rollup_workspace_hour) x",
		"SELECT count(*) FROM rollup_hour WHERE extract(minute FROM hour) <> 0",
	};
	for (size_t i = 0; i < sizeof(zeroes) / sizeof(zeroes[0]); i++)
		assert_int_equal(test_database_ask(db, zeroes[i]), 0);
	assert_int_equal(
		test_database_ask(db, "SELECT sum(humans + bots)::bigint FROM rollup_hour"),
		VISITS);
	assert_int_equal(test_database_ask(
				 db, "SELECT latency_count FROM link_statistics WHERE link_id = 0"),
	                 VISITS);
}

static void repairs_any_damage(void **state)
{
	struct test_database *db = *state;
	assert_int_equal(rebuild(db, 0, false), OK);
	int64_t hash = test_database_ask(db, aggregates_hash_sql);
	damage(db);
	int64_t damaged = test_database_ask(db, aggregates_hash_sql);
	assert_int_not_equal(damaged, hash);
	assert_int_equal(rebuild(db, 0, true), ERR_CONFLICT);
	assert_int_equal(test_database_ask(db, aggregates_hash_sql), damaged);
	assert_int_equal(rebuild(db, 0, false), OK);
	assert_int_equal(test_database_ask(db, aggregates_hash_sql), hash);
}

static void repairs_a_single_link(void **state)
{
	struct test_database *db = *state;
	assert_int_equal(rebuild(db, 0, false), OK);
	run(db, "UPDATE rollup_hour SET humans = humans + 1");
	assert_int_equal(rebuild(db, some_link(db), false), OK);
	assert_int_equal(rebuild(db, some_link(db), true), OK);
	assert_int_equal(rebuild(db, some_link(db) + 1, true), ERR_CONFLICT);
	assert_int_equal(rebuild(db, 4711, false), ERR_NOT_FOUND);
}

/* Hours that were deleted are not made again, but their days are compared. */
static void compares_only_hours_that_are_kept(void **state)
{
	struct test_database *db = *state;
	run(db, "UPDATE rollup_progress SET hours_since = current_date - 1");
	assert_int_equal(rebuild(db, 0, false), OK);
	assert_int_equal(
		test_database_ask(db,
	                          "SELECT count(*) FROM rollup_hour WHERE hour < current_date - 1"),
		0);
	assert_int_equal(test_database_ask(db, "SELECT count(DISTINCT day) FROM rollup_day"), 3);
	assert_int_equal(rebuild(db, 0, true), OK);
	run(db, "UPDATE rollup_day SET bots = 0 WHERE day < current_date - 1");
	assert_int_equal(rebuild(db, 0, true), ERR_CONFLICT);
	run(db, "UPDATE rollup_progress SET hours_since = '-infinity'");
}

/* Names that were cut are not missing, but their visits must be counted. */
static void compares_the_sums_of_lists_that_were_cut(void **state)
{
	struct test_database *db = *state;
	assert_int_equal(rebuild(db, 0, false), OK);
	run(db, "UPDATE rollup_hour SET browser = replace(browser, 'Firefox', '(other)');"
	        "UPDATE rollup_day SET browser = replace(browser, 'Firefox', '(other)')");
	assert_int_equal(rebuild(db, 0, true), OK);
	run(db, "UPDATE rollup_day SET browser = replace(browser, 'Safari', '(other)')");
	assert_int_equal(rebuild(db, 0, true), OK);
	run(db, "UPDATE rollup_day SET browser = NULL WHERE link_id % 2 = 0");
	assert_int_equal(rebuild(db, 0, true), ERR_CONFLICT);
	assert_int_equal(rebuild(db, 0, false), OK);
}

struct counter {
	struct test_database *db;
	int64_t first_link;
	_Atomic bool is_over;
	int64_t counted;
};

static void *count_visits(void *arg)
{
	struct counter *counter = arg;
	struct pg_conn *conn = test_database_connect(counter->db, NULL);
	while (!atomic_load(&counter->is_over)) {
		struct pg_params params = { 0 };
		int64_t one = 0;
		pg_params_int(&params, counter->first_link + counter->counted % 20);
		pg_params_int(&params, 100 + counter->counted * 13 % 3000);
		/* A deadlock rolls the visit back. A consumer would retry it. */
		enum err err = pg_conn_query_int(conn, "SELECT count_visit($1, $2::integer)",
		                                 &params, &one);
		assert_true(err == OK || err == ERR_CONFLICT);
		counter->counted += one;
	}
	pg_conn_close(conn);
	return NULL;
}

struct folder {
	struct test_database *db;
	_Atomic bool is_over;
	int64_t folded;
};

/* As the janitor, in small steps. */
static void *fold(void *arg)
{
	struct folder *folder = arg;
	struct rollups_pass pass = { 0 };
	struct pg_conn *conn = test_database_connect(folder->db, "waymark_janitor");
	do {
		int64_t folded = 0;
		assert_int_equal(pg_conn_begin(conn), OK);
		assert_int_equal(rollups_fold(&pass, conn, INT64_MAX / 2, 20, &folded), OK);
		assert_int_equal(pg_conn_commit(conn), OK);
		folder->folded += folded;
		if (pass.is_over)
			pass = (struct rollups_pass){ 0 };
	} while (!atomic_load(&folder->is_over));
	pg_conn_close(conn);
	return NULL;
}

static void is_exact_while_consumers_count_and_the_janitor_folds(void **state)
{
	enum { COUNTERS = 2, ROUNDS = 4 };
	struct test_database *db = *state;
	struct counter counters[COUNTERS];
	pthread_t threads[COUNTERS + 1];
	struct folder folder = { .db = db };
	assert_int_equal(rebuild(db, 0, false), OK);
	assert_int_equal(pthread_create(&threads[COUNTERS], NULL, fold, &folder), 0);
	for (int i = 0; i < COUNTERS; i++) {
		counters[i] = (struct counter){ .db = db, .first_link = some_link(db) };
		assert_int_equal(pthread_create(&threads[i], NULL, count_visits, &counters[i]), 0);
	}
	for (int round = 0; round < ROUNDS; round++) {
		damage(db);
		assert_int_equal(rebuild(db, 0, false), OK);
	}
	int64_t counted = 0;
	for (int i = 0; i < COUNTERS; i++) {
		atomic_store(&counters[i].is_over, true);
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		counted += counters[i].counted;
	}
	atomic_store(&folder.is_over, true);
	assert_int_equal(pthread_join(threads[COUNTERS], NULL), 0);
	print_message("%d rebuilds while %lld visits were counted and %lld rows folded\n", ROUNDS,
	              (long long)counted, (long long)folder.folded);
	assert_true(counted > ROUNDS && folder.folded > ROUNDS);
	assert_int_equal(rebuild(db, 0, true), OK);
	assert_int_equal(
		test_database_ask(
			db,
			"SELECT visit_count + bot_count FROM link_statistics WHERE link_id = 0"),
		VISITS + counted);
}

struct rebuilder {
	struct test_database *db;
	int64_t link_id;
	enum err err;
};

static void *rebuild_link(void *arg)
{
	struct rebuilder *rebuilder = arg;
	rebuilder->err = rebuild(rebuilder->db, rebuilder->link_id, false);
	return NULL;
}

/* Of two visits in an hour without a row one is lost, and the janitor folds the other. */
static void adds_to_a_row_that_a_fold_makes_at_the_same_time(void **state)
{
	struct test_database *db = *state;
	struct rebuilder rebuilder = { .db = db, .link_id = some_link(db) };
	struct rollups_pass pass = { 0 };
	struct pg_conn *janitor = test_database_connect(db, "waymark_janitor");
	pthread_t thread;
	int64_t folded = 0;
	run(db, "SELECT count_visit(min(id), 100, now()) FROM links; DELETE FROM rollup_delta;"
	        "SELECT count_visit(min(id), 100, now()) FROM links");
	assert_int_equal(pg_conn_begin(janitor), OK);
	assert_int_equal(rollups_fold(&pass, janitor, INT64_MAX / 2, 20, &folded), OK);
	assert_int_equal(folded, 1);
	assert_int_equal(pthread_create(&thread, NULL, rebuild_link, &rebuilder), 0);
	test_database_await(db,
	                    "SELECT count(*) FROM pg_stat_activity WHERE datname = "
	                    "current_database() AND wait_event_type = 'Lock'",
	                    1, TEST_DEADLINE_MS);
	assert_int_equal(pg_conn_commit(janitor), OK);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pg_conn_close(janitor);
	assert_int_equal(rebuilder.err, OK);
}

/* Makes the schema a year old and drops the first of the three days, as retention does. */
#define DROP_A_DAY                                                                                 \
	"UPDATE schema_migrations SET applied_at = now() - interval '1 year';"                     \
	"DO $$ BEGIN EXECUTE format('DROP TABLE %I', 'visit_log_' || to_char((now() AT TIME ZONE 'UTC')::date - 2, 'YYYYMMDD')); END $$;"

static void keeps_roll_ups_of_days_that_retention_dropped(void **state)
{
	struct test_database *db = *state;
	assert_int_equal(rebuild(db, 0, false), OK);
	int64_t hash = test_database_ask(db, aggregates_hash_sql);
	run(db, DROP_A_DAY);
	assert_int_equal(rebuild(db, 0, true), OK);
	run(db,
	    "UPDATE rollup_hour SET humans = humans + 1 WHERE hour >= date_trunc('day', now()) - interval '1 day';"
	    "UPDATE link_statistics SET visit_count = visit_count + 1 WHERE link_id > 0");
	assert_int_equal(rebuild(db, 0, true), ERR_CONFLICT);
	assert_int_equal(rebuild(db, 0, false), OK);
	assert_int_equal(test_database_ask(db, aggregates_hash_sql), hash);
}

/*
 * Counts late visits of eight days ago, which retention then deletes from the default partition
 * without dropping a partition. One of them is folded after that.
 */
#define COUNT_LATE_VISIT                                                                                                         \
	"INSERT INTO visit_log (day, event_id, occurred_at, link_id, slug, status, latency_us, is_bot, is_unique, browser) "     \
	"SELECT ((now() - interval '8 days') AT TIME ZONE 'UTC')::date, gen_random_uuid(), now() - interval '8 days', min(id), " \
	"'rebuild', 302, 1500, false, true, 'Chrome' FROM links"

static void keeps_counts_of_deleted_late_visits(void **state)
{
	struct test_database *db = *state;
	struct folder folder = { .db = db, .is_over = true };
	run(db, COUNT_LATE_VISIT);
	assert_int_equal(rebuild(db, 0, false), OK);
	run(db, "SELECT count_visit(min(id), 1500, now() - interval '8 days') FROM links");
	assert_int_equal(rebuild(db, 0, true), OK);
	int64_t hash = test_database_ask(db, aggregates_hash_sql);
	assert_int_equal(
		test_database_ask(
			db,
			"WITH gone AS (DELETE FROM visit_log_default WHERE day < current_date - 4 "
			"RETURNING 1), reach AS (UPDATE visit_log_reach SET since = current_date - 4) "
			"SELECT count(*) FROM gone"),
		2);
	assert_int_equal(rebuild(db, 0, true), OK);
	assert_int_equal(rebuild(db, 0, false), OK);
	assert_int_equal(test_database_ask(db, aggregates_hash_sql), hash);
	/* The platform's row can no longer be verified, but the days that the log has can be. */
	run(db, "UPDATE rollup_hour SET humans = humans + 1 WHERE hour >= current_date - 1");
	assert_int_equal(rebuild(db, 0, true), ERR_CONFLICT);
	assert_int_equal(rebuild(db, 0, false), OK);
	assert_int_equal(test_database_ask(db, aggregates_hash_sql), hash);
	(void)fold(&folder);
	assert_int_equal(folder.folded, 1);
	assert_int_equal(rebuild(db, 0, true), OK);
	assert_int_equal(
		test_database_ask(
			db,
			"SELECT sum(humans)::bigint FROM rollup_day WHERE day < current_date - 4"),
		2);
	run(db, "UPDATE visit_log_reach SET since = NULL");
}

static void keeps_a_day_whose_partition_was_detached(void **state)
{
	struct test_database *db = *state;
	assert_int_equal(rebuild(db, 0, false), OK);
	int64_t hash = test_database_ask(db, aggregates_hash_sql);
	run(db,
	    "DO $$ BEGIN EXECUTE format('ALTER TABLE visit_log DETACH PARTITION %I', "
	    "'visit_log_' || to_char((now() AT TIME ZONE 'UTC')::date - 1, 'YYYYMMDD')); END $$;");
	assert_int_equal(rebuild(db, 0, false), OK);
	assert_int_equal(test_database_ask(db, aggregates_hash_sql), hash);
	run(db,
	    "DO $$ DECLARE day date := (now() AT TIME ZONE 'UTC')::date - 1; BEGIN "
	    "EXECUTE format('ALTER TABLE visit_log ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', "
	    "'visit_log_' || to_char(day, 'YYYYMMDD'), day, day + 1); END $$;");
}

static void does_not_restore_purged_links(void **state)
{
	struct test_database *db = *state;
	run(db, "DELETE FROM links WHERE id = (SELECT min(id) FROM links)");
	assert_int_equal(rebuild(db, 0, false), OK);
	assert_int_equal(test_database_ask(db,
	                                   "SELECT count(*) FROM link_statistics WHERE link_id > 0 "
	                                   "AND NOT EXISTS (SELECT FROM links WHERE id = link_id)"),
	                 0);
	assert_int_equal(
		test_database_ask(db, "SELECT count(*) FROM rollup_hour "
	                              "WHERE NOT EXISTS (SELECT FROM links WHERE id = link_id)"),
		0);
	assert_int_equal(test_database_ask(
				 db, "SELECT latency_count FROM link_statistics WHERE link_id = 0"),
	                 VISITS);
}

static void refuses_a_second_rebuild_at_the_same_time(void **state)
{
	struct test_database *db = *state;
	struct pg_conn *other = test_database_connect(db, NULL);
	const struct rebuild_options options = { .link_id = some_link(db) };
	assert_int_equal(rebuild_run(other, &options), OK);
	enum err err = rebuild(db, 0, false);
	enum err check = rebuild(db, 0, true);
	pg_conn_close(other);
	assert_int_equal(err, ERR_LIMIT);
	assert_int_equal(check, ERR_CONFLICT);
}

int main(void)
{
#define AFTER_RESET(test) cmocka_unit_test_setup(test, reset)
	/* The last tests remove days and links, so their order matters. */
	const struct CMUnitTest tests[] = {
		AFTER_RESET(fills_empty_aggregates_from_the_log),
		AFTER_RESET(repairs_any_damage),
		AFTER_RESET(repairs_a_single_link),
		AFTER_RESET(compares_only_hours_that_are_kept),
		AFTER_RESET(compares_the_sums_of_lists_that_were_cut),
		AFTER_RESET(is_exact_while_consumers_count_and_the_janitor_folds),
		AFTER_RESET(adds_to_a_row_that_a_fold_makes_at_the_same_time),
		AFTER_RESET(refuses_a_second_rebuild_at_the_same_time),
		AFTER_RESET(keeps_counts_of_deleted_late_visits),
		AFTER_RESET(keeps_a_day_whose_partition_was_detached),
		AFTER_RESET(does_not_restore_purged_links),
		AFTER_RESET(keeps_roll_ups_of_days_that_retention_dropped),
	};
	return cmocka_run_group_tests(tests, make_visits, drop);
}
