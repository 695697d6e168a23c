/* Roll-ups while consumers count clicks: at every moment they agree with the visit log. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include "services/janitor/retention/rollups.h"
#include "tests/integration/analytics-consumer/ledger.h"
#include "tests/integration/janitor/time_fixture.h"
#include "tests/support/test.h"

#define AWAIT_MS TEST_DEADLINE_MS
#define A_DAY_AND_AN_HOUR (CLOCK_US_PER_DAY + CLOCK_US_PER_HOUR)
#define KEEP_DAYS 10

/* Starts at midnight, with no clicks counted and no day finished. */
static int start_a_day(void **state)
{
	struct time_fixture *t = *state;
	char sql[200];
	assert_int_equal(consumer_fixture_reset((void **)&t->world), 0);
	partition_owner_close(&t->owner);
	partition_owner_open(&t->owner, t->world, 0);
	t->offset = t->clicks = t->in_batch = 0;
	t->config.daily_rollups_delay_s = 3600;
	t->config.rollup_hours_keep_days = KEEP_DAYS;
	time_fixture_advance(t,
	                     CLOCK_US_PER_DAY - clock_now_us(&t->clock.clock) % CLOCK_US_PER_DAY);
	snprintf(
		sql, sizeof(sql),
		"UPDATE rollup_progress SET next_day = date '1970-01-01' + %d, next_link = DEFAULT, "
		"hours_since = '-infinity', fold_link = 0",
		time_fixture_today(t));
	test_database_run(t->world->database, sql);
	return 0;
}

/* The number of past days that are not finished. */
static int64_t days_behind(struct time_fixture *t)
{
	char sql[128];
	snprintf(sql, sizeof(sql), "SELECT date '1970-01-01' + %d - next_day FROM rollup_progress",
	         time_fixture_today(t));
	return time_fixture_ask(t, sql);
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

#define HUMANS_BY_DAY "SELECT coalesce(sum(humans), 0)::bigint FROM rollup_day"
#define DELTAS "SELECT count(*) FROM rollup_delta"

TEST_CASE(finishes_a_day_after_the_configured_delay)
{
	struct time_fixture *t = *state;
	int32_t day = time_fixture_today(t);
	count_clicks(t, day, 100);
	assert_int_equal(time_fixture_run(t, rollups_fold), 0);
	time_fixture_advance(t, A_DAY_AND_AN_HOUR - 1);
	assert_int_equal(time_fixture_run(t, rollups_fold), 5);
	assert_int_equal(time_fixture_ask(t, DELTAS), 0);
	assert_int_equal(time_fixture_run(t, rollups_finish), 0);
	assert_int_equal(time_fixture_ask(t, HUMANS_BY_DAY), 0);
	assert_int_equal(days_behind(t), 1);
	time_fixture_advance(t, 1);
	assert_int_equal(time_fixture_run(t, rollups_finish), 6); /* once for the accounts */
	assert_int_equal(days_behind(t), 0);
	assert_int_equal(time_fixture_ask(t, HUMANS_BY_DAY), 100);
	assert_consistent(t);
}

TEST_CASE(adds_late_clicks_to_hours_and_to_days_that_are_finished)
{
	struct time_fixture *t = *state;
	int32_t day = time_fixture_today(t);
	count_clicks(t, day, 20);
	time_fixture_advance(t, A_DAY_AND_AN_HOUR);
	/* The day is finished before its clicks are folded. */
	time_fixture_run(t, rollups_finish);
	assert_int_equal(days_behind(t), 0);
	assert_consistent(t);
	time_fixture_run(t, rollups_fold);
	assert_int_equal(time_fixture_ask(t, HUMANS_BY_DAY), 20);
	count_clicks(t, day, 30);
	count_clicks(t, day - 5, 7);
	count_clicks(t, day + 1, 11);
	assert_consistent(t);
	time_fixture_run(t, rollups_fold);
	assert_int_equal(time_fixture_ask(t, HUMANS_BY_DAY), 57);
	assert_consistent(t);
	time_fixture_advance(t, CLOCK_US_PER_DAY);
	time_fixture_run(t, rollups_fold);
	time_fixture_run(t, rollups_finish);
	assert_int_equal(time_fixture_ask(t, HUMANS_BY_DAY), 68);
	assert_int_equal(time_fixture_ask(t, DELTAS), 0);
	assert_consistent(t);
}

TEST_CASE(catches_up_after_days_without_a_janitor)
{
	struct time_fixture *t = *state;
	int32_t day = time_fixture_today(t);
	for (int i = 0; i < 5; i++)
		count_clicks(t, day + i, 10);
	time_fixture_advance(t, 6 * CLOCK_US_PER_DAY + CLOCK_US_PER_HOUR);
	time_fixture_run(t, rollups_fold);
	time_fixture_run(t, rollups_finish);
	assert_int_equal(days_behind(t), 0);
	assert_int_equal(time_fixture_ask(t, "SELECT count(DISTINCT day) FROM rollup_day"), 5);
	assert_consistent(t);
}

TEST_CASE(waits_for_many_rows_before_it_folds_an_hour_that_is_not_over)
{
	struct time_fixture *t = *state;
	int32_t day = time_fixture_today(t);
	for (int i = 0; i < 31; i++)
		count_clicks(t, day, 5);
	assert_int_equal(time_fixture_run(t, rollups_fold), 0);
	count_clicks(t, day, 3);
	assert_int_equal(time_fixture_run(t, rollups_fold), 3 * 32);
	assert_int_equal(time_fixture_ask(t, DELTAS), 2 * 31);
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
	time_fixture_advance(t, CLOCK_US_PER_HOUR);
	time_fixture_run(t, rollups_fold);
	time_fixture_run(t, rollups_finish);
	assert_int_equal(days_behind(t), 0);
	char sql[200];
	snprintf(sql, sizeof(sql),
	         "SELECT hours_since - date '1970-01-01' - %d FROM rollup_progress", day);
	assert_int_equal(time_fixture_ask(t, sql), 4);
	snprintf(sql, sizeof(sql),
	         "SELECT extract(epoch FROM min(hour))::bigint / 86400 - %d FROM rollup_hour", day);
	/* Days before hours_since: one that readers may still rely on. */
	assert_int_equal(time_fixture_ask(t, sql), 2);
	assert_int_equal(time_fixture_ask(t, HUMANS_BY_DAY), t->clicks);
	/* A click that is so late counts in its day alone. */
	count_clicks(t, day, 5);
	time_fixture_run(t, rollups_fold);
	assert_int_equal(time_fixture_ask(t, sql), 2);
	assert_int_equal(time_fixture_ask(t, HUMANS_BY_DAY), t->clicks);
	assert_int_equal(
		time_fixture_ask(
			t,
			"SELECT sum(humans)::bigint FROM rollup_day_entries WHERE dimension = 'quarters'"),
		t->clicks);
}

/* --- bounded values --- */

/* Counts nothing in the log: deltas with so many values of a city, each once. */
static void add_values(struct time_fixture *t, const char *prefix, int values)
{
	char sql[512];
	snprintf(
		sql, sizeof(sql),
		"INSERT INTO rollup_delta (link_id, hour, entries, humans, bots, uniques, quarters, city) "
		"SELECT 3, timestamptz 'epoch' + %lld * interval '1 hour', n, n, 0, 0, concat_ws(E'\\x1f', n, 0, 0, 0), list "
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
	time_fixture_advance(t, CLOCK_US_PER_HOUR);
	time_fixture_run(t, rollups_fold);
	assert_int_equal(time_fixture_ask(t, CITIES("count(*)", "")), 1001);
	assert_int_equal(time_fixture_ask(t, CITIES("sum(humans)", "")), 5300);
	assert_int_equal(time_fixture_ask(t, CITIES("count(*)", " AND value LIKE 'once-%'")), 900);
	assert_int_equal(time_fixture_ask(t, CITIES("sum(humans)", " AND value = '(other)'")),
	                 5300 - 3 * 900 - 100 * 2);
	/* What is "(other)" stays so, and the day has no more values than an hour. */
	add_values(t, "later-", 900);
	time_fixture_advance(t, A_DAY_AND_AN_HOUR);
	time_fixture_run(t, rollups_fold);
	test_database_run(
		t->world->database,
		"INSERT INTO link_statistics (link_id, last_visited_at) VALUES (3, now())");
	time_fixture_run(t, rollups_finish);
	assert_int_equal(time_fixture_ask(t, CITIES("sum(humans)", "")), 6200);
	assert_int_equal(
		time_fixture_ask(
			t, "SELECT count(*) FROM rollup_day_entries WHERE dimension = 'city'"),
		1001);
	assert_int_equal(
		time_fixture_ask(
			t,
			"SELECT sum(humans)::bigint FROM rollup_day_entries WHERE dimension = 'city'"),
		6200);
	test_database_run(t->world->database, "DELETE FROM link_statistics WHERE link_id = 3");
}

/* Questions about many links read thousands of lists. One in another page takes twice as long. */
TEST_CASE(stores_long_lists_in_the_page_of_their_row)
{
	struct time_fixture *t = *state;
	add_values(t, "city-", 600);
	time_fixture_advance(t, CLOCK_US_PER_HOUR);
	time_fixture_run(t, rollups_fold);
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

/* --- concurrency --- */

TEST_CASE(does_nothing_during_a_rebuild)
{
	struct time_fixture *t = *state;
	count_clicks(t, time_fixture_today(t), 10);
	time_fixture_advance(t, A_DAY_AND_AN_HOUR);
	assert_int_equal(
		pg_conn_query(t->reader, "SELECT pg_advisory_lock(rollup_lock_key())", NULL, NULL),
		OK);
	assert_int_equal(time_fixture_run(t, rollups_fold), 0);
	assert_int_equal(time_fixture_run(t, rollups_finish), 0);
	assert_int_equal(days_behind(t), 1);
	assert_int_equal(pg_conn_query(t->reader, "SELECT pg_advisory_unlock(rollup_lock_key())",
	                               NULL, NULL),
	                 OK);
	assert_int_equal(time_fixture_run(t, rollups_fold), 5);
	time_fixture_run(t, rollups_finish);
	assert_int_equal(days_behind(t), 0);
	assert_consistent(t);
}

TEST_CASE(a_fold_that_is_cut_off_changes_nothing)
{
	struct time_fixture *t = *state;
	count_clicks(t, time_fixture_today(t), 10);
	int64_t folded = 0;
	assert_int_equal(pg_conn_begin(t->reader), OK);
	assert_int_equal(
		pg_conn_query_int(t->reader, "SELECT rollup_fold('infinity', 1000)", NULL, &folded),
		OK);
	assert_int_equal(folded, 5);
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

TEST_CASE(a_purge_finds_what_a_fold_has_just_moved)
{
	struct time_fixture *t = *state;
	test_database_run(
		t->world->database,
		"INSERT INTO link_statistics (link_id, last_visited_at) VALUES (77, now())");
	test_database_run(
		t->world->database,
		"INSERT INTO rollup_delta (link_id, hour, entries, humans, bots, uniques, quarters) "
		"VALUES (77, '2023-01-01T00:00:00Z', 1, 1, 0, 0, concat_ws(E'\\x1f', 1, 0, 0, 0))");
	test_database_run(t->world->database, "UPDATE rollup_progress SET next_day = '2020-01-01'");
	int64_t folded = 0;
	assert_int_equal(pg_conn_begin(t->reader), OK);
	assert_int_equal(
		pg_conn_query_int(t->reader, "SELECT rollup_fold('infinity', 1000)", NULL, &folded),
		OK);
	assert_int_equal(folded, 1);
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
	assert_int_equal(purger.rows, 2);
	assert_int_equal(time_fixture_ask(t, "SELECT count(*) FROM rollup_hour"), 0);
	assert_int_equal(time_fixture_ask(t, "SELECT count(*) FROM link_statistics"), 0);
}

struct roller {
	struct time_fixture *t;
	int32_t last_day;
	_Atomic bool is_stopped;
	int64_t folded;
	int64_t wrong;
};

/* Two janitors in the smallest steps: one folds, the other finishes days. */
static void *fold_deltas(void *arg)
{
	struct roller *r = arg;
	struct pg_conn *conn = test_database_connect(r->t->world->database, "waymark_janitor");
	while (!atomic_load(&r->is_stopped)) {
		int64_t done = 0;
		assert_int_equal(
			pg_conn_query_int(conn, "SELECT rollup_fold('infinity', 7)", NULL, &done),
			OK);
		r->folded += done;
	}
	pg_conn_close(conn);
	return NULL;
}

static void *finish_days(void *arg)
{
	struct roller *r = arg;
	struct pg_conn *conn = test_database_connect(r->t->world->database, "waymark_janitor");
	char sql[128];
	snprintf(sql, sizeof(sql), "SELECT rollup_finish_day(date '1970-01-01' + %d, 90, 1)",
	         r->last_day);
	while (!atomic_load(&r->is_stopped)) {
		int64_t done = 0;
		assert_int_equal(pg_conn_query_int(conn, sql, NULL, &done), OK);
	}
	pg_conn_close(conn);
	return NULL;
}

/* As links-api counts: finished days, other hours, and deltas, in one statement. */
static const char count_wrong[] =
	"SELECT ((SELECT sum(visit_count) FROM link_statistics WHERE link_id > 0) <> "
	"(SELECT sum(humans) FROM (SELECT humans FROM rollup_delta UNION ALL "
	"SELECT humans FROM rollup_day, rollup_progress WHERE day < next_day UNION ALL "
	"SELECT humans FROM rollup_hour, rollup_progress WHERE (hour AT TIME ZONE 'UTC')::date >= next_day) AS parts))::integer";

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
	struct roller roller = { .t = t, .last_day = day + DAYS - 1 };
	pthread_t threads[3];
	assert_int_equal(pthread_create(&threads[0], NULL, fold_deltas, &roller), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, finish_days, &roller), 0);
	assert_int_equal(pthread_create(&threads[2], NULL, read_counts, &roller), 0);
	for (int i = 0; i < BATCHES; i++) {
		for (int j = 0; j < DAYS; j++)
			(void)time_fixture_click(t, day + (i + j) % DAYS);
		time_fixture_store(t);
	}
	char sql[128];
	snprintf(sql, sizeof(sql),
	         "SELECT (next_day - date '1970-01-01' - %d)::integer FROM rollup_progress", day);
	test_database_await(t->world->database, sql, DAYS, AWAIT_MS);
	test_database_await(t->world->database, DELTAS, 0, AWAIT_MS);
	atomic_store(&roller.is_stopped, true);
	for (size_t i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	print_message("%lld rows folded while %d batches were counted\n", (long long)roller.folded,
	              BATCHES);
	assert_int_equal(roller.wrong, 0);
	assert_int_equal(time_fixture_ask(t, HUMANS_BY_DAY), t->clicks);
	assert_consistent(t);
}

TEST_MAIN(.group_set_up = time_fixture_set_up, .group_tear_down = time_fixture_tear_down,
          .set_up = start_a_day)
