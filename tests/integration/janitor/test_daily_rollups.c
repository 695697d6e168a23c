/* Daily roll-ups while consumers count clicks: at every moment they agree with the visit log. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include "services/janitor/retention/daily_rollups.h"
#include "tests/integration/analytics-consumer/ledger.h"
#include "tests/integration/janitor/time_fixture.h"
#include "tests/support/test.h"

#define AWAIT_MS TEST_DEADLINE_MS

#define A_DAY_AND_AN_HOUR (CLOCK_US_PER_DAY + CLOCK_US_PER_HOUR)

/* Starts at midnight, with no clicks counted and no day rolled up. */
static int start_a_day(void **state)
{
	struct time_fixture *t = *state;
	char sql[256];
	assert_int_equal(consumer_fixture_reset((void **)&t->world), 0);
	partition_owner_close(&t->owner);
	partition_owner_open(&t->owner, t->world, 0);
	t->offset = t->clicks = t->in_batch = 0;
	t->config.daily_rollups_delay_s = 3600;
	time_fixture_advance(t,
	                     CLOCK_US_PER_DAY - clock_now_us(&t->clock.clock) % CLOCK_US_PER_DAY);
	snprintf(
		sql, sizeof(sql),
		"UPDATE daily_rollup_progress SET totals_since = date '1970-01-01' + %d, next_day = date '1970-01-01' + %d, "
		"next_link = 0, done_dimension = NULL, done_value = NULL",
		time_fixture_today(t), time_fixture_today(t));
	test_database_run(t->world->database, sql);
	return 0;
}

/* The number of past days that are not completely rolled up. */
static int64_t days_behind(struct time_fixture *t)
{
	char sql[128];
	snprintf(sql, sizeof(sql),
	         "SELECT date '1970-01-01' + %d - next_day FROM daily_rollup_progress",
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

static const char count_days[] =
	"SELECT (SELECT count(*) FROM visit_rollup_day) + (SELECT count(*) FROM visit_total_day)";

static void rolls_up_a_day_after_the_configured_delay(void **state)
{
	struct time_fixture *t = *state;
	int32_t day = time_fixture_today(t);
	count_clicks(t, day, 100);
	assert_int_equal(time_fixture_ask(t, count_days), 0);
	time_fixture_advance(t, A_DAY_AND_AN_HOUR - 1);
	assert_int_equal(time_fixture_run(t, daily_rollups_run), 0);
	assert_int_equal(days_behind(t), 1);
	time_fixture_advance(t, 1);
	assert_int_equal(time_fixture_run(t, daily_rollups_run), 5);
	assert_int_equal(days_behind(t), 0);
	assert_int_equal(time_fixture_ask(t, "SELECT sum(humans)::bigint FROM visit_total_day"),
	                 100);
	assert_int_equal(
		time_fixture_ask(
			t,
			"SELECT sum(humans)::bigint FROM visit_rollup_day WHERE dimension = 'referrer'"),
		100);
	assert_consistent(t);
}

static void adds_late_clicks_to_days_already_rolled_up(void **state)
{
	struct time_fixture *t = *state;
	int32_t day = time_fixture_today(t);
	count_clicks(t, day, 20);
	time_fixture_advance(t, A_DAY_AND_AN_HOUR);
	time_fixture_run(t, daily_rollups_run);
	count_clicks(t, day, 30);
	count_clicks(t, day - 100, 7);
	count_clicks(t, day + 1, 11);
	assert_int_equal(time_fixture_ask(t, "SELECT sum(humans)::bigint FROM visit_total_day"),
	                 50);
	/* A day before totals_since has values, but no totals. */
	assert_int_equal(
		time_fixture_ask(
			t,
			"SELECT sum(humans)::bigint FROM visit_rollup_day WHERE dimension = 'referrer'"),
		57);
	assert_consistent(t);
	time_fixture_advance(t, CLOCK_US_PER_DAY);
	time_fixture_run(t, daily_rollups_run);
	assert_int_equal(time_fixture_ask(t, "SELECT sum(humans)::bigint FROM visit_total_day"),
	                 61);
	assert_consistent(t);
}

static void catches_up_after_days_without_a_janitor(void **state)
{
	struct time_fixture *t = *state;
	int32_t day = time_fixture_today(t);
	for (int i = 0; i < 5; i++)
		count_clicks(t, day + 3 * i, 10);
	time_fixture_advance(t, 20 * CLOCK_US_PER_DAY + CLOCK_US_PER_HOUR);
	time_fixture_run(t, daily_rollups_run);
	assert_int_equal(days_behind(t), 0);
	assert_int_equal(time_fixture_ask(t, "SELECT count(DISTINCT day) FROM visit_total_day"), 5);
	assert_consistent(t);
}

/* A part of the day is there already. */
static void replaces_existing_rows_of_a_day_that_is_not_rolled_up(void **state)
{
	struct time_fixture *t = *state;
	int32_t day = time_fixture_today(t);
	count_clicks(t, day, 20);
	test_database_run(t->world->database,
	                  "INSERT INTO visit_rollup_day (link_id, day, dimension, value, humans) "
	                  "SELECT link_id, day, 'referrer', referrer_host, 1 FROM visit_log "
	                  "WHERE link_id < 4 GROUP BY 1, 2, 4");
	time_fixture_advance(t, A_DAY_AND_AN_HOUR);
	time_fixture_run(t, daily_rollups_run);
	assert_consistent(t);
}

/* --- a link with too many rows for one batch --- */

static void add_many_values(struct time_fixture *t, int32_t day)
{
	char sql[1024];
	snprintf(
		sql, sizeof(sql),
		"INSERT INTO visit_rollup_hour (link_id, bucket, dimension, value, humans) "
		"SELECT 3, (date '1970-01-01' + %d)::timestamp AT TIME ZONE 'UTC' + n %% 24 * interval '1 hour', d, "
		"'value-' || n * 7919 %% 301, count(*) FROM generate_series(1, 2000) AS n, "
		"unnest(ARRAY['country', 'city', 'utm_campaign']::visit_dimension[]) AS d GROUP BY 2, 3, 4",
		day);
	test_database_run(t->world->database, sql);
}

static const char differences_of_days_and_hours[] =
	"SELECT count(*) FROM (SELECT link_id, (bucket AT TIME ZONE 'UTC')::date AS day, dimension, value, "
	"sum(humans)::bigint AS humans FROM visit_rollup_hour GROUP BY 1, 2, 3, 4) AS h, daily_rollup_progress AS f "
	"WHERE daily_rollup_has_value(f, link_id, day, dimension, value) AND NOT EXISTS (SELECT FROM visit_rollup_day AS d "
	"WHERE (d.link_id, d.day, d.dimension, d.value, d.humans) = (h.link_id, h.day, h.dimension, h.value, h.humans))";

/*
 * Every step stores the position that it has reached. Late clicks are counted before and after it.
 */
static void continues_in_the_middle_of_a_link(void **state)
{
	struct time_fixture *t = *state;
	int32_t day = time_fixture_today(t);
	char sql[128];
	int64_t steps = 0, positions = 0;
	count_clicks(t, day, 50);
	add_many_values(t, day);
	snprintf(sql, sizeof(sql), "SELECT daily_rollup_advance(date '1970-01-01' + %d, 0, 5, 5)",
	         day);
	while (time_fixture_ask(t, sql) > 0) {
		steps++;
		positions += time_fixture_ask(
			t,
			"SELECT count(done_value) FROM daily_rollup_progress WHERE done_value <> ''");
		count_clicks(t, day, 5);
		assert_int_equal(time_fixture_ask(t, differences_of_days_and_hours), 0);
	}
	print_message("%lld steps, %lld of them ended within a dimension\n", (long long)steps,
	              (long long)positions);
	assert_true(positions > 30);
	assert_int_equal(
		time_fixture_ask(
			t, "SELECT count(*) FROM visit_rollup_day WHERE value LIKE 'value-%'"),
		903);
	assert_int_equal(
		time_fixture_ask(
			t,
			"SELECT sum(humans)::bigint FROM visit_rollup_day WHERE value LIKE 'value-%'"),
		6000);
	assert_int_equal(time_fixture_ask(t, "SELECT sum(humans)::bigint FROM visit_total_day"),
	                 t->clicks);
}

static void starts_the_next_link_from_its_beginning_after_a_purge_half_way(void **state)
{
	struct time_fixture *t = *state;
	int32_t day = time_fixture_today(t);
	char sql[128];
	count_clicks(t, day, 50);
	add_many_values(t, day);
	snprintf(sql, sizeof(sql), "SELECT daily_rollup_advance(date '1970-01-01' + %d, 0, 5, 5)",
	         day);
	while (time_fixture_ask(
		       t,
		       "SELECT count(done_value) FROM daily_rollup_progress WHERE done_value > 'value-2'") ==
	       0)
		assert_true(time_fixture_ask(t, sql) > 0);
	test_database_run(t->world->database, "DELETE FROM link_statistics WHERE link_id = 3");
	while (time_fixture_ask(t, sql) > 0)
		;
	assert_int_equal(
		time_fixture_ask(
			t,
			"SELECT count(*) FROM visit_log WHERE link_id > 3 AND referrer_host <> ''"),
		time_fixture_ask(t, "SELECT sum(humans)::bigint FROM visit_rollup_day "
	                            "WHERE link_id > 3 AND dimension = 'referrer'"));
}

/* --- concurrency --- */

static void gives_up_in_time_while_a_consumer_counts_clicks_of_the_day(void **state)
{
	struct time_fixture *t = *state;
	int32_t day = time_fixture_today(t);
	int64_t changed = 0;
	char sql[128];
	count_clicks(t, day, 10);
	time_fixture_advance(t, A_DAY_AND_AN_HOUR);
	snprintf(sql, sizeof(sql),
	         "SELECT daily_rollup_lock_days(ARRAY[date '1970-01-01' + %d]) - date '1970-01-01'",
	         day);
	int64_t next_day = 0;
	assert_int_equal(pg_conn_begin(t->reader), OK);
	assert_int_equal(pg_conn_query_int(t->reader, sql, NULL, &next_day), OK);
	assert_int_equal(next_day, day);
	assert_int_equal(daily_rollups_run(&t->run, &changed), ERR_LIMIT);
	assert_int_equal(days_behind(t), 1);
	assert_int_equal(pg_conn_commit(t->reader), OK);
	time_fixture_run(t, daily_rollups_run);
	assert_int_equal(days_behind(t), 0);
}

static void does_not_wait_for_consumers_that_count_clicks_of_other_days(void **state)
{
	struct time_fixture *t = *state;
	int32_t day = time_fixture_today(t);
	char sql[256];
	count_clicks(t, day, 10);
	time_fixture_advance(t, A_DAY_AND_AN_HOUR);
	snprintf(
		sql, sizeof(sql),
		"SELECT daily_rollup_lock_days(ARRAY[date '1970-01-01' + %d, date '1970-01-01' + %d]) IS NOT NULL",
		day - 1, day + 1);
	assert_int_equal(pg_conn_begin(t->reader), OK);
	assert_int_equal(pg_conn_query(t->reader, sql, NULL, NULL), OK);
	time_fixture_run(t, daily_rollups_run);
	assert_int_equal(days_behind(t), 0);
	assert_int_equal(pg_conn_commit(t->reader), OK);
}

struct roller {
	struct time_fixture *t;
	int32_t last_day;
	_Atomic bool is_stopped;
	int64_t steps;
};

static void *roll_up(void *arg)
{
	struct roller *f = arg;
	struct pg_conn *conn = test_database_connect(f->t->world->database, "waymark_janitor");
	char sql[128];
	snprintf(sql, sizeof(sql), "SELECT daily_rollup_advance(date '1970-01-01' + %d, 0, 20, 3)",
	         f->last_day);
	while (!atomic_load(&f->is_stopped)) {
		int64_t done = 0;
		assert_int_equal(pg_conn_query_int(conn, sql, NULL, &done), OK);
		f->steps += done > 0;
	}
	pg_conn_close(conn);
	return NULL;
}

static void counts_every_click_once_while_clicks_of_the_day_arrive(void **state)
{
	enum { DAYS = 8, BATCHES = 40 };
	struct time_fixture *t = *state;
	int32_t day = time_fixture_today(t);
	for (int i = 0; i < DAYS; i++)
		count_clicks(t, day + i, 60);
	struct roller roller = { .t = t, .last_day = day + DAYS - 1 };
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, roll_up, &roller), 0);
	for (int i = 0; i < BATCHES; i++) {
		for (int j = 0; j < DAYS; j++)
			(void)time_fixture_click(t, day + (i + j) % DAYS);
		time_fixture_store(t);
	}
	test_database_await(t->world->database,
	                    "SELECT (next_day - totals_since)::int FROM daily_rollup_progress",
	                    DAYS, AWAIT_MS);
	atomic_store(&roller.is_stopped, true);
	pthread_join(thread, NULL);
	print_message("%lld steps while %d batches were counted\n", (long long)roller.steps,
	              BATCHES);
	assert_int_equal(time_fixture_ask(t, "SELECT sum(humans)::bigint FROM visit_total_day"),
	                 t->clicks);
	assert_consistent(t);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup(test, start_a_day)
	const struct CMUnitTest tests[] = {
		TEST(rolls_up_a_day_after_the_configured_delay),
		TEST(adds_late_clicks_to_days_already_rolled_up),
		TEST(catches_up_after_days_without_a_janitor),
		TEST(replaces_existing_rows_of_a_day_that_is_not_rolled_up),
		TEST(continues_in_the_middle_of_a_link),
		TEST(starts_the_next_link_from_its_beginning_after_a_purge_half_way),
		TEST(gives_up_in_time_while_a_consumer_counts_clicks_of_the_day),
		TEST(does_not_wait_for_consumers_that_count_clicks_of_other_days),
		TEST(counts_every_click_once_while_clicks_of_the_day_arrive),
	};
	return cmocka_run_group_tests(tests, time_fixture_set_up, time_fixture_tear_down);
}
