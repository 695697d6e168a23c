/* A year of partitions, salts and retention, in seconds: only the clock is made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/janitor/retention/partitions.h"
#include "services/janitor/retention/retention.h"
#include "services/janitor/retention/salts.h"
#include "tests/integration/janitor/time_fixture.h"

#define YEAR 366
#define AWAY_FROM 100 /* the janitor: 31 days, and later 3 */
#define AWAY_UNTIL 131
#define AWAY_AGAIN_FROM 200
#define AWAY_AGAIN_UNTIL 203
#define CROWDED 130 /* the last day without it has more clicks than can be moved while writers wait */
#define CROWD 7000

#define FIRST_DAY (TIME_FIXTURE_START - 500)
#define DAYS 5000 /* from then on, for which clicks are remembered */

#define TOO_LATE (TIME_FIXTURE_KEEP_DAYS + 1)
#define AHEAD 20 /* a redirector whose clock is so many days ahead */
#define FAR_AHEAD 3650

struct year {
	struct time_fixture *t;
	int64_t *clicks; /* by day, since FIRST_DAY */
	struct redirect_event last;
	struct redirect_event stray; /* the last that had no partition */
	int64_t repeats;
};

static void click(struct year *y, int32_t day)
{
	y->last = time_fixture_click(y->t, day);
	y->clicks[day - FIRST_DAY]++;
}

static void repeat(struct year *y, const struct redirect_event *event)
{
	time_fixture_repeat(y->t, event);
	y->repeats++;
}

/* What redirectors send on a day: most of it fresh, some late, some twice, some from clocks that are wrong. */
static void send_clicks(struct year *y, int n)
{
	int32_t today = time_fixture_today(y->t);
	if (n > 0)
		repeat(y, &y->last);
	for (int i = 0; i < 6; i++)
		click(y, today);
	click(y, today - 1);
	click(y, today - 3);
	if (n % 10 == 0)
		click(y, today - TOO_LATE);
	if (n % 20 == 0)
		click(y, today - 20);
	if (n % 50 == 0)
		click(y, today + AHEAD);
	if (n == 50)
		click(y, today + FAR_AHEAD);
	click(y, today);
	time_fixture_store(y->t);
}

static void send_crowd(struct year *y)
{
	for (int i = 0; i < CROWD; i++) {
		click(y, time_fixture_today(y->t));
		if (i % TIME_FIXTURE_BATCH == TIME_FIXTURE_BATCH - 1)
			time_fixture_store(y->t);
	}
	y->stray = y->last;
	time_fixture_store(y->t);
}

static int64_t clicks_kept(const struct year *y)
{
	int64_t sum = 0;
	int32_t oldest = time_fixture_today(y->t) - (int32_t)y->t->config.visit_log_keep_days;
	for (int32_t day = oldest; day < FIRST_DAY + DAYS; day++)
		sum += y->clicks[day - FIRST_DAY];
	return sum;
}

static int64_t ask_of_today(struct year *y, const char *sql)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_day(&params, time_fixture_today(y->t));
	assert_int_equal(pg_conn_query(y->t->reader, sql, &params, &rows), OK);
	int64_t answer = pg_result_int(rows, 0, 0);
	pg_result_free(rows);
	return answer;
}

static void assert_partitions(struct year *y)
{
	/* Names and bounds agree, as each row is where its name says. */
	assert_int_equal(
		ask_of_today(y, "SELECT count(*) FROM generate_series($1::date, $1::date + 7, interval '1 day') AS day "
	                        "WHERE to_regclass('visit_log_' || to_char(day, 'YYYYMMDD')) IS NULL"),
		0);
	assert_int_equal(
		ask_of_today(y,
	                     "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname ~ '^visit_log_[0-9]{8}$' "
	                     "AND to_date(right(relname, 8), 'YYYYMMDD') < $1::date - 30"),
		0);
	/* What has no partition is too new for one. */
	assert_int_equal(ask_of_today(y, "SELECT count(*) FROM visit_log_default WHERE day <= $1::date + 7"), 0);
}

static void assert_log(struct year *y)
{
	assert_int_equal(time_fixture_ask(y->t, "SELECT count(*) FROM visit_log"), clicks_kept(y));
}

/* From yesterday to the day after tomorrow, and each the same for as long as it is there. */
static void assert_salts(struct year *y, bool yesterday)
{
	assert_int_equal(ask_of_today(y, "SELECT min(day) - $1::date FROM visitor_salts"), yesterday ? -1 : 0);
	assert_int_equal(ask_of_today(y, "SELECT max(day) - $1::date FROM visitor_salts"), 2);
	assert_int_equal(time_fixture_ask(y->t, "SELECT count(*) FROM visitor_salts"), yesterday ? 4 : 3);
	test_database_run(y->t->world->database, "INSERT INTO salts_seen SELECT day, salt FROM visitor_salts "
	                                         "ON CONFLICT DO NOTHING");
	assert_int_equal(time_fixture_ask(y->t, "SELECT count(*) FROM visitor_salts JOIN salts_seen USING (day) "
	                                          "WHERE visitor_salts.salt <> salts_seen.salt"),
	                 0);
}

static void do_tasks(struct year *y)
{
	time_fixture_run(y->t, salts_run);
	time_fixture_run(y->t, partitions_run);
	time_fixture_run(y->t, retention_run);
}

static bool is_away(int n)
{
	return (n >= AWAY_FROM && n < AWAY_UNTIL) || (n >= AWAY_AGAIN_FROM && n < AWAY_AGAIN_UNTIL);
}

static void live_a_day(struct year *y, int n)
{
	if (!is_away(n)) {
		do_tasks(y);
		assert_salts(y, n > 0 && n != AWAY_UNTIL && n != AWAY_AGAIN_UNTIL);
	}
	send_clicks(y, n);
	if (n == CROWDED)
		send_crowd(y);
	if (!is_away(n)) {
		/* The hour after: what strayed has a place. */
		time_fixture_run(y->t, partitions_run);
		assert_partitions(y);
		if (n % 5 == 0 || n == AWAY_UNTIL)
			assert_log(y);
	}
}

/* No two days at the same hour. */
static int64_t until_next_day_us(int n)
{
	return CLOCK_US_PER_DAY + (n % 24 == 23 ? -23 : 1) * CLOCK_US_PER_HOUR;
}

static void keeps_its_calendar_through_a_year_and_a_month_without_janitor(void **state)
{
	struct year y = { .t = *state, .clicks = mem_array(DAYS, sizeof(int64_t)) };
	memset(y.clicks, 0, DAYS * sizeof(int64_t));
	test_database_run(y.t->world->database, "CREATE TABLE salts_seen (day date PRIMARY KEY, salt bytea)");
	for (int n = 0; n < YEAR; n++) {
		live_a_day(&y, n);
		if (n == AWAY_UNTIL - 1)
			assert_true(time_fixture_ask(y.t, "SELECT count(*) FROM visit_log_default") > CROWD);
		if (n == AWAY_UNTIL)
			repeat(&y, &y.stray);
		time_fixture_advance(y.t, until_next_day_us(n));
	}
	time_fixture_assert_counted(y.t);
	do_tasks(&y);
	assert_log(&y);
	assert_int_equal(time_fixture_ask(y.t, "SELECT count(DISTINCT event_id) FROM visit_log"),
	                 time_fixture_ask(y.t, "SELECT count(*) FROM visit_log"));
	assert_int_equal(time_fixture_ask(y.t, "SELECT count(*) FROM visit_log_unsorted"), 0);
	print_message("time travel: %d days, %lld clicks counted once, %lld repeats dropped, %lld rows kept\n", YEAR,
	              (long long)y.t->clicks, (long long)y.repeats, (long long)clicks_kept(&y));
	free(y.clicks);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, time_fixture_set_up, time_fixture_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(keeps_its_calendar_through_a_year_and_a_month_without_janitor),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
