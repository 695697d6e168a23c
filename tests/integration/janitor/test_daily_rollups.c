/* Days are finished by the janitor while consumers count: their roll-ups say what the visit log says, at every moment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "services/janitor/retention/daily_rollups.h"
#include "tests/integration/analytics-consumer/books.h"
#include "tests/integration/janitor/time_fixture.h"

#define AWAIT_MS 10000

#define A_DAY_AND_AN_HOUR (CLOCK_US_PER_DAY + CLOCK_US_PER_HOUR)

/* It is midnight, and nothing was counted of the day that begins or is finished of it. */
static int begin_a_day(void **state)
{
	struct time_fixture *t = *state;
	char sql[256];
	assert_int_equal(world_reset((void **)&t->world), 0);
	owner_close(&t->owner);
	owner_open(&t->owner, t->world, 0);
	t->offset = t->clicks = t->at_hand = 0;
	t->config.daily_rollups_delay_s = 3600;
	time_fixture_advance(t, CLOCK_US_PER_DAY - clock_now_us(&t->clock.clock) % CLOCK_US_PER_DAY);
	snprintf(sql, sizeof(sql),
	         "UPDATE finished_days SET totals_since = date '1970-01-01' + %d, next_day = date '1970-01-01' + %d, "
	         "next_link = 0, done_dimension = NULL, done_value = NULL",
	         time_fixture_today(t), time_fixture_today(t));
	test_database_run(t->world->database, sql);
	return 0;
}

/* How many days before the clock's there are of which not all is finished. */
static int64_t days_behind(struct time_fixture *t)
{
	char sql[128];
	snprintf(sql, sizeof(sql), "SELECT date '1970-01-01' + %d - next_day FROM finished_days",
	         time_fixture_today(t));
	return time_fixture_ask(t, sql);
}

static void count_clicks(struct time_fixture *t, int32_t day, int clicks)
{
	for (int i = 0; i < clicks; i++)
		(void)time_fixture_click(t, day);
	time_fixture_store(t);
}

static void assert_books(struct time_fixture *t)
{
	time_fixture_assert_counted(t);
	books_assert_equal(t->world->database);
}

static const char count_days[] =
	"SELECT (SELECT count(*) FROM visit_rollup_day) + (SELECT count(*) FROM visit_total_day)";

static void finishes_a_day_once_it_has_been_over_for_long_enough(void **state)
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
	assert_int_equal(time_fixture_ask(t, "SELECT sum(humans)::bigint FROM visit_total_day"), 100);
	assert_int_equal(
		time_fixture_ask(t, "SELECT sum(humans)::bigint FROM visit_rollup_day WHERE dimension = 'referrer'"),
		100);
	assert_books(t);
}

static void counts_clicks_that_come_late_into_finished_days(void **state)
{
	struct time_fixture *t = *state;
	int32_t day = time_fixture_today(t);
	count_clicks(t, day, 20);
	time_fixture_advance(t, A_DAY_AND_AN_HOUR);
	time_fixture_run(t, daily_rollups_run);
	count_clicks(t, day, 30);
	count_clicks(t, day - 100, 7);
	count_clicks(t, day + 1, 11);
	assert_int_equal(time_fixture_ask(t, "SELECT sum(humans)::bigint FROM visit_total_day"), 50);
	/* A day before there were totals has none, and its values. */
	assert_int_equal(
		time_fixture_ask(t, "SELECT sum(humans)::bigint FROM visit_rollup_day WHERE dimension = 'referrer'"),
		57);
	assert_books(t);
	time_fixture_advance(t, CLOCK_US_PER_DAY);
	time_fixture_run(t, daily_rollups_run);
	assert_int_equal(time_fixture_ask(t, "SELECT sum(humans)::bigint FROM visit_total_day"), 61);
	assert_books(t);
}

static void catches_up_with_all_days_that_it_was_away(void **state)
{
	struct time_fixture *t = *state;
	int32_t day = time_fixture_today(t);
	for (int i = 0; i < 5; i++)
		count_clicks(t, day + 3 * i, 10);
	time_fixture_advance(t, 20 * CLOCK_US_PER_DAY + CLOCK_US_PER_HOUR);
	time_fixture_run(t, daily_rollups_run);
	assert_int_equal(days_behind(t), 0);
	assert_int_equal(time_fixture_ask(t, "SELECT count(DISTINCT day) FROM visit_total_day"), 5);
	assert_books(t);
}

/* What a consumer of before has written, a part of the day. */
static void makes_anew_what_stands_in_a_day_that_is_not_finished(void **state)
{
	struct time_fixture *t = *state;
	int32_t day = time_fixture_today(t);
	count_clicks(t, day, 20);
	test_database_run(t->world->database, "INSERT INTO visit_rollup_day (link_id, day, dimension, value, humans) "
	                                      "SELECT link_id, day, 'referrer', referrer_host, 1 FROM visit_log "
	                                      "WHERE link_id < 4 GROUP BY 1, 2, 4");
	time_fixture_advance(t, A_DAY_AND_AN_HOUR);
	time_fixture_run(t, daily_rollups_run);
	assert_books(t);
}

/* --- a link that is too much for one batch --- */

static void add_many_values(struct time_fixture *t, int32_t day)
{
	char sql[1024];
	snprintf(sql, sizeof(sql),
	         "INSERT INTO visit_rollup_hour (link_id, bucket, dimension, value, humans) "
	         "SELECT 3, (date '1970-01-01' + %d)::timestamp AT TIME ZONE 'UTC' + n %% 24 * interval '1 hour', d, "
	         "'value-' || n * 7919 %% 301, count(*) FROM generate_series(1, 2000) AS n, "
	         "unnest(ARRAY['country', 'city', 'utm_campaign']::visit_dimension[]) AS d GROUP BY 2, 3, 4",
	         day);
	test_database_run(t->world->database, sql);
}

static const char differences_of_days_and_hours[] =
	"SELECT count(*) FROM (SELECT link_id, (bucket AT TIME ZONE 'UTC')::date AS day, dimension, value, "
	"sum(humans)::bigint AS humans FROM visit_rollup_hour GROUP BY 1, 2, 3, 4) AS h, finished_days AS f "
	"WHERE finished_days_have(f, link_id, day, dimension, value) AND NOT EXISTS (SELECT FROM visit_rollup_day AS d "
	"WHERE (d.link_id, d.day, d.dimension, d.value, d.humans) = (h.link_id, h.day, h.dimension, h.value, h.humans))";

/* Every step leaves a place up to which all is there, and late clicks are counted on either side of it. */
static void goes_on_in_the_middle_of_a_link(void **state)
{
	struct time_fixture *t = *state;
	int32_t day = time_fixture_today(t);
	char sql[128];
	int64_t steps = 0, places = 0;
	count_clicks(t, day, 50);
	add_many_values(t, day);
	snprintf(sql, sizeof(sql), "SELECT finished_days_advance(date '1970-01-01' + %d, 0, 5, 5)", day);
	while (time_fixture_ask(t, sql) > 0) {
		steps++;
		places += time_fixture_ask(t, "SELECT count(done_value) FROM finished_days WHERE done_value <> ''");
		count_clicks(t, day, 5);
		assert_int_equal(time_fixture_ask(t, differences_of_days_and_hours), 0);
	}
	print_message("%lld steps, %lld of them ended within a dimension\n", (long long)steps, (long long)places);
	assert_true(places > 30);
	assert_int_equal(time_fixture_ask(t, "SELECT count(*) FROM visit_rollup_day WHERE value LIKE 'value-%'"),
	                 903);
	assert_int_equal(
		time_fixture_ask(t, "SELECT sum(humans)::bigint FROM visit_rollup_day WHERE value LIKE 'value-%'"),
		6000);
	assert_int_equal(time_fixture_ask(t, "SELECT sum(humans)::bigint FROM visit_total_day"), t->clicks);
}

static void does_not_mistake_the_next_link_for_one_that_was_purged_half_way(void **state)
{
	struct time_fixture *t = *state;
	int32_t day = time_fixture_today(t);
	char sql[128];
	count_clicks(t, day, 50);
	add_many_values(t, day);
	snprintf(sql, sizeof(sql), "SELECT finished_days_advance(date '1970-01-01' + %d, 0, 5, 5)", day);
	while (time_fixture_ask(t, "SELECT count(done_value) FROM finished_days WHERE done_value > 'value-2'") == 0)
		assert_true(time_fixture_ask(t, sql) > 0);
	test_database_run(t->world->database, "DELETE FROM link_statistics WHERE link_id = 3");
	while (time_fixture_ask(t, sql) > 0)
		;
	assert_int_equal(
		time_fixture_ask(t, "SELECT count(*) FROM visit_log WHERE link_id > 3 AND referrer_host <> ''"),
		time_fixture_ask(t, "SELECT sum(humans)::bigint FROM visit_rollup_day "
	                              "WHERE link_id > 3 AND dimension = 'referrer'"));
}

/* --- at the same time --- */

static void waits_for_who_counts_clicks_of_the_day_and_gives_up_in_time(void **state)
{
	struct time_fixture *t = *state;
	int32_t day = time_fixture_today(t);
	int64_t changed = 0;
	char sql[128];
	count_clicks(t, day, 10);
	time_fixture_advance(t, A_DAY_AND_AN_HOUR);
	snprintf(sql, sizeof(sql), "SELECT finished_days_hold(ARRAY[date '1970-01-01' + %d]) - date '1970-01-01'", day);
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

static void does_not_wait_for_who_counts_clicks_of_other_days(void **state)
{
	struct time_fixture *t = *state;
	int32_t day = time_fixture_today(t);
	char sql[256];
	count_clicks(t, day, 10);
	time_fixture_advance(t, A_DAY_AND_AN_HOUR);
	snprintf(sql, sizeof(sql),
	         "SELECT finished_days_hold(ARRAY[date '1970-01-01' + %d, date '1970-01-01' + %d]) IS NOT NULL",
	         day - 1, day + 1);
	assert_int_equal(pg_conn_begin(t->reader), OK);
	assert_int_equal(pg_conn_query(t->reader, sql, NULL, NULL), OK);
	time_fixture_run(t, daily_rollups_run);
	assert_int_equal(days_behind(t), 0);
	assert_int_equal(pg_conn_commit(t->reader), OK);
}

struct finisher {
	struct time_fixture *t;
	int32_t last_day;
	atomic_bool is_over;
	int64_t steps;
};

static void *finish(void *arg)
{
	struct finisher *f = arg;
	struct pg_conn *conn = test_database_connect(f->t->world->database, "waymark_janitor");
	char sql[128];
	snprintf(sql, sizeof(sql), "SELECT finished_days_advance(date '1970-01-01' + %d, 0, 20, 3)", f->last_day);
	while (!atomic_load(&f->is_over)) {
		int64_t done = 0;
		assert_int_equal(pg_conn_query_int(conn, sql, NULL, &done), OK);
		f->steps += done > 0;
	}
	pg_conn_close(conn);
	return NULL;
}

static void loses_and_doubles_nothing_while_clicks_of_the_day_are_counted(void **state)
{
	enum { DAYS = 8, BATCHES = 40 };
	struct time_fixture *t = *state;
	int32_t day = time_fixture_today(t);
	for (int i = 0; i < DAYS; i++)
		count_clicks(t, day + i, 60);
	struct finisher finisher = { .t = t, .last_day = day + DAYS - 1 };
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, finish, &finisher), 0);
	for (int i = 0; i < BATCHES; i++) {
		for (int j = 0; j < DAYS; j++)
			(void)time_fixture_click(t, day + (i + j) % DAYS);
		time_fixture_store(t);
	}
	test_database_await(t->world->database, "SELECT (next_day - totals_since)::int FROM finished_days", DAYS,
	                    AWAIT_MS);
	atomic_store(&finisher.is_over, true);
	pthread_join(thread, NULL);
	print_message("%lld steps while %d batches were counted\n", (long long)finisher.steps, BATCHES);
	assert_int_equal(time_fixture_ask(t, "SELECT sum(humans)::bigint FROM visit_total_day"), t->clicks);
	assert_books(t);
}

int main(void)
{
#define ANEW(test) cmocka_unit_test_setup(test, begin_a_day)
	const struct CMUnitTest tests[] = {
		ANEW(finishes_a_day_once_it_has_been_over_for_long_enough),
		ANEW(counts_clicks_that_come_late_into_finished_days),
		ANEW(catches_up_with_all_days_that_it_was_away),
		ANEW(makes_anew_what_stands_in_a_day_that_is_not_finished),
		ANEW(goes_on_in_the_middle_of_a_link),
		ANEW(does_not_mistake_the_next_link_for_one_that_was_purged_half_way),
		ANEW(waits_for_who_counts_clicks_of_the_day_and_gives_up_in_time),
		ANEW(does_not_wait_for_who_counts_clicks_of_other_days),
		ANEW(loses_and_doubles_nothing_while_clicks_of_the_day_are_counted),
	};
	return cmocka_run_group_tests(tests, time_fixture_set_up, time_fixture_tear_down);
}
