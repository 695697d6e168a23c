/* Roll-ups while consumers count clicks: at every moment they agree with the visit log. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/janitor/retention/rollups.h"
#include "tests/integration/analytics-consumer/ledger.h"
#include "tests/integration/janitor/time_fixture.h"
#include "tests/support/test.h"

#define AWAIT_MS TEST_DEADLINE_MS
#define KEEP_DAYS 10

/* Links 1 and 2 belong to one account, link 3 to another, and links 4 and 5 to none. */
static int set_up(void **state)
{
	int failed = time_fixture_set_up(state);
	struct time_fixture *t = *state;
	test_database_run(t->world->database,
	                  "INSERT INTO users (email, password_hash) "
	                  "SELECT n || '@example.com', 'none' FROM generate_series(1, 2) AS n");
	return failed;
}

/* Starts at midnight, with no clicks counted. */
static int start_a_day(void **state)
{
	struct time_fixture *t = *state;
	assert_int_equal(consumer_fixture_reset((void **)&t->world), 0);
	partition_owner_close(&t->owner);
	partition_owner_open(&t->owner, t->world, 0);
	t->offset = t->clicks = t->in_batch = 0;
	t->config.rollup_hours_keep_days = KEEP_DAYS;
	time_fixture_advance(t,
	                     CLOCK_US_PER_DAY - clock_now_us(&t->clock.clock) % CLOCK_US_PER_DAY);
	test_database_run(t->world->database,
	                  "UPDATE rollup_progress SET hours_since = '-infinity'");
	test_database_run(t->world->database, "UPDATE workspaces SET deleted_at = NULL");
	test_database_run(
		t->world->database,
		"INSERT INTO links (id, slug, link_type, original_url, expires_at) OVERRIDING SYSTEM VALUE "
		"SELECT i, 'link-' || i, 'TEMPORARY', 'https://example.com/', now() "
		"FROM generate_series(1, 5) AS i ON CONFLICT DO NOTHING");
	test_database_run(
		t->world->database,
		"UPDATE links SET state = 'ACTIVE', state_before_deletion = NULL, "
		"link_type = CASE WHEN id < 4 THEN 'PERMANENT' ELSE 'TEMPORARY' END, "
		"workspace_id = CASE WHEN id < 4 THEN (SELECT min(id) FROM users) + id / 3 END");
	return 0;
}

static void count_clicks(struct time_fixture *t, int32_t day, int clicks)
{
	for (int i = 0; i < clicks; i++)
		(void)time_fixture_click(t, day);
	time_fixture_store(t);
}

static void assert_consistent(struct time_fixture *t)
{
	time_fixture_assert_counted(t);
	ledger_assert_equal(t->world->database);
}

static void fold_all(struct time_fixture *t)
{
	time_fixture_advance(t, CLOCK_US_PER_HOUR);
	(void)time_fixture_run(t, rollups_run);
	assert_int_equal(time_fixture_ask(t, "SELECT count(*) FROM rollup_delta"), 0);
}

#define HUMANS_BY_DAY "SELECT coalesce(sum(humans), 0)::bigint FROM rollup_day"
#define HUMANS_OF_ACCOUNTS "SELECT coalesce(sum(humans), 0)::bigint FROM rollup_workspace_day"
#define DELTAS "SELECT count(*) FROM rollup_delta"

TEST_CASE(folds_an_hour_that_is_over_into_hours_and_days_of_links_and_accounts)
{
	struct time_fixture *t = *state;
	count_clicks(t, time_fixture_today(t), 100);
	time_fixture_advance(t, CLOCK_US_PER_HOUR - 1);
	assert_int_equal(time_fixture_run(t, rollups_run), 0);
	assert_int_equal(time_fixture_ask(t, HUMANS_BY_DAY), 0);
	assert_consistent(t);
	time_fixture_advance(t, 1);
	assert_int_equal(time_fixture_run(t, rollups_run), 5);
	assert_int_equal(time_fixture_ask(t, DELTAS), 0);
	assert_int_equal(time_fixture_ask(t, "SELECT count(*) FROM rollup_hour"), 5);
	assert_int_equal(time_fixture_ask(t, "SELECT count(*) FROM rollup_workspace_hour"), 2);
	assert_int_equal(time_fixture_ask(t, HUMANS_BY_DAY), 100);
	assert_int_equal(time_fixture_ask(t, HUMANS_OF_ACCOUNTS), 60);
	assert_consistent(t);
}

TEST_CASE(adds_late_clicks_of_any_day)
{
	struct time_fixture *t = *state;
	int32_t day = time_fixture_today(t);
	for (int i = 0; i < 5; i++)
		count_clicks(t, day + i - 4, 10 + i);
	fold_all(t);
	count_clicks(t, day, 30);
	count_clicks(t, day - 5, 7);
	assert_consistent(t);
	fold_all(t);
	assert_int_equal(time_fixture_ask(t, HUMANS_BY_DAY), t->clicks);
	assert_int_equal(time_fixture_ask(t, "SELECT count(DISTINCT day) FROM rollup_day"), 6);
	assert_consistent(t);
}

TEST_CASE(waits_for_many_rows_before_it_folds_an_hour_that_is_not_over)
{
	struct time_fixture *t = *state;
	int32_t day = time_fixture_today(t);
	for (int i = 0; i < ROLLUPS_FOLD_DELTAS_MIN - 1; i++)
		count_clicks(t, day, 5);
	assert_int_equal(time_fixture_run(t, rollups_run), 0);
	count_clicks(t, day, 3);
	assert_int_equal(time_fixture_run(t, rollups_run), 3 * ROLLUPS_FOLD_DELTAS_MIN);
	assert_int_equal(time_fixture_ask(t, DELTAS), 2 * (ROLLUPS_FOLD_DELTAS_MIN - 1));
	assert_consistent(t);
}

TEST_CASE(deletes_old_hours_and_keeps_their_counts)
{
	struct time_fixture *t = *state;
	int32_t day = time_fixture_today(t);
	for (int i = 0; i < KEEP_DAYS + 5; i++) {
		count_clicks(t, day + i, 10);
		time_fixture_advance(t, CLOCK_US_PER_DAY);
	}
	fold_all(t);
	char sql[200];
	snprintf(sql, sizeof(sql),
	         "SELECT hours_since - date '1970-01-01' - %d FROM rollup_progress", day);
	assert_int_equal(time_fixture_ask(t, sql), 5);
	snprintf(sql, sizeof(sql),
	         "SELECT extract(epoch FROM least((SELECT min(hour) FROM rollup_hour), "
	         "(SELECT min(hour) FROM rollup_workspace_hour)))::bigint / 86400 - %d",
	         day);
	/* Readers may still rely on the day before hours_since. */
	assert_int_equal(time_fixture_ask(t, sql), 4);
	assert_int_equal(time_fixture_ask(t, HUMANS_BY_DAY), t->clicks);
	/* A click that is so late counts in its day alone. */
	count_clicks(t, day, 5);
	fold_all(t);
	assert_int_equal(time_fixture_ask(t, sql), 4);
	assert_int_equal(time_fixture_ask(t, HUMANS_BY_DAY), t->clicks);
}

/* --- bounded values and steps --- */

/* Counts nothing in the log: deltas with so many values of a city, each once. */
static void add_values(struct time_fixture *t, const char *prefix, int values)
{
	char sql[640];
	snprintf(
		sql, sizeof(sql),
		"INSERT INTO rollup_delta (link_id, workspace_id, hour, entries, humans, bots, uniques, quarters, city) "
		"SELECT 3, (SELECT max(id) FROM users), timestamptz 'epoch' + %lld * interval '1 hour', n, n, 0, 0, "
		"concat_ws(E'\\x1f', n, 0, 0, 0), list "
		"FROM (SELECT count(*) AS n, string_agg(concat_ws(E'\\x1f', 1, 0, 0, '%s' || i), E'\\x1e') AS list "
		"FROM generate_series(1, %d) AS i) AS made",
		(long long)(clock_now_us(&t->clock.clock) / CLOCK_US_PER_HOUR), prefix, values);
	test_database_run(t->world->database, sql);
}

#define CITIES(what, where)                                                                        \
	"SELECT " what "::bigint FROM rollup_hour_entries WHERE dimension = 'city'" where

TEST_CASE(keeps_the_values_that_count_most_and_counts_the_rest_as_other)
{
	struct time_fixture *t = *state;
	add_values(t, "often-", 400);
	add_values(t, "often-", 400);
	for (int i = 0; i < 5; i++)
		add_values(t, i % 2 ? "odd-" : "once-", 900);
	fold_all(t);
	assert_int_equal(time_fixture_ask(t, CITIES("count(*)", "")), 1001);
	assert_int_equal(time_fixture_ask(t, CITIES("sum(humans)", "")), 5300);
	assert_int_equal(time_fixture_ask(t, CITIES("count(*)", " AND value LIKE 'once-%'")), 900);
	assert_int_equal(time_fixture_ask(t, CITIES("sum(humans)", " AND value = '(other)'")),
	                 5300 - 3 * 900 - 100 * 2);
	/* What is "(other)" stays so, and the day has no more values than an hour. */
	add_values(t, "later-", 900);
	fold_all(t);
	assert_int_equal(time_fixture_ask(t, CITIES("sum(humans)", "")), 6200);
	assert_int_equal(
		time_fixture_ask(
			t,
			"SELECT count(*) FROM rollup_workspace_day_entries WHERE dimension = 'city'"),
		1001);
	assert_int_equal(
		time_fixture_ask(
			t,
			"SELECT sum(humans)::bigint FROM rollup_workspace_day_entries WHERE dimension = 'city'"),
		6200);
}

/* Questions about many links read thousands of lists. One in another page takes twice as long. */
TEST_CASE(stores_long_lists_in_the_page_of_their_row)
{
	struct time_fixture *t = *state;
	add_values(t, "city-", 600);
	fold_all(t);
	assert_int_equal(time_fixture_ask(t, CITIES("count(*)", "")), 600);
	assert_in_range(time_fixture_ask(t, "SELECT max(pg_column_size(city)) FROM rollup_hour"),
	                2100, 8000);
	assert_int_equal(
		time_fixture_ask(
			t,
			"SELECT count(*) FROM rollup_hour WHERE pg_column_compression(city) = 'lz4'"),
		1);
	assert_int_equal(
		time_fixture_ask(
			t,
			"SELECT pg_relation_size(reltoastrelid) FROM pg_class WHERE relname = 'rollup_hour'"),
		0);
}

/* One step as the janitor makes it. */
static int64_t fold_step(struct pg_conn *conn, struct rollups_pass *fold, int64_t deltas_max)
{
	int64_t folded = 0;
	assert_int_equal(rollups_fold(fold, conn, INT64_MAX / 2, deltas_max, &folded), OK);
	return folded;
}

TEST_CASE(a_step_ends_when_its_lists_are_long_whatever_the_backlog)
{
	enum { DELTAS_COUNT = 2 * ROLLUPS_FOLD_ENTRIES_MAX / 900 };
	struct time_fixture *t = *state;
	struct rollups_pass fold = { 0 };
	int64_t most = 0;
	for (int i = 0; i < DELTAS_COUNT; i++) {
		add_values(t, "city-", 900);
		time_fixture_advance(t, CLOCK_US_PER_HOUR);
	}
	while (!fold.is_over) {
		int64_t before = fold.entries_written;
		(void)fold_step(t->reader, &fold, ROLLUPS_FOLD_DELTAS_MAX);
		if (fold.entries_written - before > most)
			most = fold.entries_written - before;
	}
	assert_int_equal(fold.deltas, DELTAS_COUNT);
	assert_in_range(most, ROLLUPS_FOLD_ENTRIES_MAX / 4, 4 * ROLLUPS_FOLD_ENTRIES_MAX);
}

/* --- accounts --- */

/* A year of an account in a minute: what happens to a link moves no visit of the past. */
TEST_CASE(an_account_keeps_its_past_whatever_happens_to_its_links)
{
	enum { STEPS = 400 };
	struct time_fixture *t = *state;
	struct rollups_pass fold = { 0 };
	int64_t of_accounts = 0;
	srandom(7);
	for (int i = 0; i < STEPS; i++) {
		char sql[320];
		int link = (int)(1 + random() % 5);
		switch (random() % 6) {
		case 0:
			snprintf(
				sql, sizeof(sql),
				"UPDATE links SET state = CASE state WHEN 'DELETED' THEN 'ACTIVE' ELSE 'DELETED' END, "
				"state_before_deletion = CASE state WHEN 'DELETED' THEN NULL ELSE 'ACTIVE' END "
				"WHERE id = %d",
				link);
			break;
		case 1:
			snprintf(
				sql, sizeof(sql),
				"UPDATE links SET link_type = 'PERMANENT', workspace_id = (SELECT min(id) FROM users) + %ld "
				"WHERE id = %d",
				random() % 2, link);
			break;
		case 2:
			snprintf(sql, sizeof(sql), "DELETE FROM links WHERE id = %d AND %d = 0",
			         link, i % 4);
			break;
		default:
			count_clicks(t, time_fixture_today(t) - (int32_t)(random() % 4), 3);
			snprintf(sql, sizeof(sql), "SELECT 1");
		}
		int64_t before = time_fixture_ask(
			t, "SELECT count(*) FROM visit_log WHERE workspace_id <> 0");
		assert_true(before >= of_accounts);
		of_accounts = before;
		test_database_run(t->world->database, sql);
		while (time_fixture_ask(
			       t, "SELECT statistics_delete_links(ARRAY[1, 2, 3, 4, 5], 3)") > 0)
			;
		if (fold.is_over)
			fold = (struct rollups_pass){ 0 };
		(void)fold_step(t->reader, &fold, 1 + random() % 5);
		if (i % 20 == 0)
			ledger_assert_accounts_equal(t->world->database);
	}
	while (!fold.is_over)
		(void)fold_step(t->reader, &fold, ROLLUPS_FOLD_DELTAS_MAX);
	ledger_assert_accounts_equal(t->world->database);
}

TEST_CASE(counts_nothing_more_for_a_workspace_that_was_deleted)
{
	struct time_fixture *t = *state;
	count_clicks(t, time_fixture_today(t), 10);
	test_database_run(
		t->world->database,
		"UPDATE workspaces SET deleted_at = now() WHERE id = (SELECT min(id) FROM workspaces)");
	fold_all(t);
	assert_int_equal(time_fixture_ask(t, HUMANS_BY_DAY), 10);
	assert_int_equal(time_fixture_ask(t, HUMANS_OF_ACCOUNTS), 2);
}

/* --- concurrency --- */

TEST_CASE(a_fold_that_is_cut_off_changes_nothing)
{
	struct time_fixture *t = *state;
	struct rollups_pass fold = { 0 };
	count_clicks(t, time_fixture_today(t), 10);
	assert_int_equal(pg_conn_begin(t->reader), OK);
	assert_int_equal(fold_step(t->reader, &fold, ROLLUPS_FOLD_DELTAS_MAX), 5);
	assert_consistent(t);
	/* Consumers do not wait for it. */
	count_clicks(t, time_fixture_today(t), 10);
	pg_conn_rollback(t->reader);
	assert_int_equal(time_fixture_ask(t, DELTAS), 10);
	assert_consistent(t);
}

struct purger {
	struct pg_conn *conn;
	enum err err;
	int64_t rows;
};

static void *purge(void *arg)
{
	struct purger *p = arg;
	p->err = pg_conn_query_int(p->conn, "SELECT statistics_delete_links(ARRAY[77], 1000)", NULL,
	                           &p->rows);
	return NULL;
}

static void add_delta_of_purged_link(struct time_fixture *t)
{
	test_database_run(
		t->world->database,
		"INSERT INTO link_statistics (link_id, last_visited_at) VALUES (77, now())");
	test_database_run(
		t->world->database,
		"INSERT INTO rollup_delta (link_id, workspace_id, hour, entries, humans, bots, uniques, quarters) "
		"SELECT 77, min(id), '2023-01-01T00:00:00Z', 1, 1, 0, 0, concat_ws(E'\\x1f', 1, 0, 0, 0) FROM users");
}

TEST_CASE(a_purge_finds_what_a_fold_has_just_moved)
{
	struct time_fixture *t = *state;
	struct rollups_pass fold = { 0 };
	add_delta_of_purged_link(t);
	assert_int_equal(pg_conn_begin(t->reader), OK);
	assert_int_equal(fold_step(t->reader, &fold, ROLLUPS_FOLD_DELTAS_MAX), 1);
	struct purger purger = { .conn = test_database_connect(t->world->database, NULL) };
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, purge, &purger), 0);
	test_database_await(
		t->world->database,
		"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
		"AND wait_event_type = 'Lock'",
		1, AWAIT_MS);
	assert_int_equal(pg_conn_commit(t->reader), OK);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pg_conn_close(purger.conn);
	assert_int_equal(purger.err, OK);
	assert_int_equal(purger.rows, 3); /* the hour, the day and the totals */
	assert_int_equal(time_fixture_ask(t, "SELECT count(*) FROM rollup_hour"), 0);
	assert_int_equal(time_fixture_ask(t, "SELECT count(*) FROM link_statistics"), 0);
	assert_int_equal(time_fixture_ask(t, HUMANS_OF_ACCOUNTS), 1);
}

TEST_CASE(a_fold_leaves_what_a_purge_has_locked)
{
	struct time_fixture *t = *state;
	struct rollups_pass fold = { 0 };
	struct purger purger = { .conn = t->reader };
	add_delta_of_purged_link(t);
	assert_int_equal(pg_conn_begin(t->reader), OK);
	(void)purge(&purger);
	assert_int_equal(purger.err, OK);
	assert_int_equal(fold_step(t->conn, &fold, ROLLUPS_FOLD_DELTAS_MAX), 0);
	assert_true(fold.is_reading_again);
	assert_int_equal(pg_conn_commit(t->reader), OK);
	fold = (struct rollups_pass){ 0 };
	assert_int_equal(fold_step(t->conn, &fold, ROLLUPS_FOLD_DELTAS_MAX), 1);
	assert_int_equal(time_fixture_ask(t, "SELECT count(*) FROM rollup_day"), 0);
	assert_int_equal(time_fixture_ask(t, HUMANS_OF_ACCOUNTS), 1);
}

struct roller {
	struct time_fixture *t;
	_Atomic bool is_stopped;
	int64_t folded;
	int64_t wrong;
};

/* In the smallest steps, with the janitor's rights. */
static void *fold_deltas(void *arg)
{
	struct roller *r = arg;
	struct pg_conn *conn = test_database_connect(r->t->world->database, "waymark_janitor");
	struct rollups_pass fold = { 0 };
	while (!atomic_load(&r->is_stopped)) {
		assert_int_equal(pg_conn_begin(conn), OK);
		r->folded += fold_step(conn, &fold, 7);
		assert_int_equal(pg_conn_commit(conn), OK);
		if (fold.is_over)
			fold = (struct rollups_pass){ 0 };
	}
	pg_conn_close(conn);
	return NULL;
}

/* As links-api counts: hours or days, and deltas, in one statement. */
static const char count_wrong[] =
	"SELECT ((SELECT sum(visit_count) FROM link_statistics WHERE link_id > 0) <> ALL (ARRAY["
	"(SELECT sum(humans) FROM (SELECT humans FROM rollup_delta UNION ALL SELECT humans FROM rollup_day) AS days), "
	"(SELECT sum(humans) FROM (SELECT humans FROM rollup_delta UNION ALL SELECT humans FROM rollup_hour) AS hours)]))::integer";

static void *read_counts(void *arg)
{
	struct roller *r = arg;
	struct pg_conn *conn = test_database_connect(r->t->world->database, NULL);
	while (!atomic_load(&r->is_stopped)) {
		int64_t is_wrong = 0;
		assert_int_equal(pg_conn_query_int(conn, count_wrong, NULL, &is_wrong), OK);
		r->wrong += is_wrong;
	}
	pg_conn_close(conn);
	return NULL;
}

TEST_CASE(counts_every_click_once_while_it_is_folded_and_read)
{
	enum { DAYS = 8, BATCHES = 40 };
	struct time_fixture *t = *state;
	int32_t day = time_fixture_today(t);
	for (int i = 0; i < DAYS; i++)
		count_clicks(t, day + i, 60);
	struct roller roller = { .t = t };
	pthread_t threads[2];
	assert_int_equal(pthread_create(&threads[0], NULL, fold_deltas, &roller), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, read_counts, &roller), 0);
	for (int i = 0; i < BATCHES; i++) {
		for (int j = 0; j < DAYS; j++)
			(void)time_fixture_click(t, day + (i + j) % DAYS);
		time_fixture_store(t);
	}
	test_database_await(t->world->database, DELTAS, 0, AWAIT_MS);
	atomic_store(&roller.is_stopped, true);
	for (size_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	print_message("%lld rows folded while %d batches were counted\n", (long long)roller.folded,
	              BATCHES);
	assert_int_equal(roller.wrong, 0);
	assert_int_equal(time_fixture_ask(t, HUMANS_BY_DAY), t->clicks);
	assert_consistent(t);
}

TEST_MAIN(.group_set_up = set_up, .group_tear_down = time_fixture_tear_down, .set_up = start_a_day)
