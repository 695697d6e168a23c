/* A year of partitions, salts and retention within seconds, on a fake clock. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/janitor/retention/days.h"
#include "tests/integration/janitor/time_fixture.h"
#include "tests/support/test.h"

#define YEAR 366
#define AWAY_FROM 100 /* no janitor runs for 31 days, and later for 3 */
#define AWAY_UNTIL 131
#define AWAY_AGAIN_FROM 200
#define AWAY_AGAIN_UNTIL 203

#define FIRST_DAY (TIME_FIXTURE_START - 500)
#define DAYS 5000 /* from FIRST_DAY on, for which clicks are counted */

#define TOO_LATE (TIME_FIXTURE_KEEP_DAYS + 1)
#define AHEAD 40 /* days by which the clock of a redirector is ahead */
#define FAR_AHEAD 3650

struct year {
	struct time_fixture *t;
	/* Per day, from FIRST_DAY on. */
	int64_t *clicks;
	struct redirect_event last;
	/* The last click without a partition. */
	struct redirect_event stray;
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

/* The clicks of a day: most are fresh, some late, some repeated, some dated by a wrong clock. */
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
	/* Names and bounds of partitions agree. */
	assert_int_equal(
		ask_of_today(
			y,
			"SELECT count(*) FROM generate_series($1::date, $1::date + 30, interval '1 day') AS each "
			"WHERE to_regclass('visit_log_' || to_char(each, 'YYYYMMDD')) IS NULL "
			"AND NOT EXISTS (SELECT FROM visit_log_default AS d WHERE d.day = each::date)"),
		0);
	assert_int_equal(
		ask_of_today(
			y,
			"SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname ~ '^visit_log_[0-9]{8}$' "
			"AND to_date(right(relname, 8), 'YYYYMMDD') < $1::date - 30"),
		0);
	assert_int_equal(
		ask_of_today(y, "SELECT count(*) FROM visit_log_default WHERE day < $1::date - 30"),
		0);
}

static void assert_log(struct year *y)
{
	assert_int_equal(time_fixture_ask(y->t, "SELECT count(*) FROM visit_log"), clicks_kept(y));
}

/* Salts exist from yesterday to the day after tomorrow, and never change. */
static void assert_salts(struct year *y, bool yesterday)
{
	assert_int_equal(ask_of_today(y, "SELECT min(day) - $1::date FROM visitor_salts"),
	                 yesterday ? -1 : 0);
	assert_int_equal(ask_of_today(y, "SELECT max(day) - $1::date FROM visitor_salts"), 2);
	assert_int_equal(time_fixture_ask(y->t, "SELECT count(*) FROM visitor_salts"),
	                 yesterday ? 4 : 3);
	test_database_run(y->t->world->database,
	                  "INSERT INTO salts_seen SELECT day, salt FROM visitor_salts "
	                  "ON CONFLICT DO NOTHING");
	assert_int_equal(
		time_fixture_ask(y->t,
	                         "SELECT count(*) FROM visitor_salts JOIN salts_seen USING (day) "
	                         "WHERE visitor_salts.salt <> salts_seen.salt"),
		0);
}

static void run_tasks(struct year *y)
{
	time_fixture_run(y->t, days_make_salts);
	time_fixture_run(y->t, days_make_partitions);
	time_fixture_run(y->t, days_delete_old);
}

static bool is_away(int n)
{
	return (n >= AWAY_FROM && n < AWAY_UNTIL) || (n >= AWAY_AGAIN_FROM && n < AWAY_AGAIN_UNTIL);
}

static void simulate_day(struct year *y, int n)
{
	if (!is_away(n)) {
		run_tasks(y);
		assert_salts(y, n > 0 && n != AWAY_UNTIL && n != AWAY_AGAIN_UNTIL);
	}
	send_clicks(y, n);
	if (!is_away(n)) {
		time_fixture_run(y->t, days_make_partitions);
		assert_partitions(y);
		if (n % 5 == 0 || n == AWAY_UNTIL)
			assert_log(y);
	}
}

/* Each day has another hour. */
static int64_t until_next_day_us(int n)
{
	return CLOCK_US_PER_DAY + (n % 24 == 23 ? -23 : 1) * CLOCK_US_PER_HOUR;
}

TEST_CASE(keeps_partitions_and_salts_through_a_year_with_a_month_without_janitor)
{
	struct year y = { .t = *state, .clicks = mem_array(DAYS, sizeof(int64_t)) };
	memset(y.clicks, 0, DAYS * sizeof(int64_t));
	test_database_run(y.t->world->database,
	                  "CREATE TABLE salts_seen (day date PRIMARY KEY, salt bytea)");
	for (int n = 0; n < YEAR; n++) {
		simulate_day(&y, n);
		if (n == AWAY_UNTIL - 1) {
			assert_true(ask_of_today(&y, "SELECT count(*) FROM visit_log_default "
			                             "WHERE day = $1::date") > 0);
			y.stray = y.last;
		}
		if (n == AWAY_UNTIL)
			repeat(&y, &y.stray);
		time_fixture_advance(y.t, until_next_day_us(n));
	}
	time_fixture_assert_counted(y.t);
	run_tasks(&y);
	assert_log(&y);
	assert_int_equal(time_fixture_ask(y.t, "SELECT count(DISTINCT event_id) FROM visit_log"),
	                 time_fixture_ask(y.t, "SELECT count(*) FROM visit_log"));
	print_message(
		"simulated year: %d days, %lld clicks counted once, %lld repeats dropped, %lld rows kept\n",
		YEAR, (long long)y.t->clicks, (long long)y.repeats, (long long)clicks_kept(&y));
	free(y.clicks);
}

TEST_MAIN(.set_up = time_fixture_set_up, .tear_down = time_fixture_tear_down)
