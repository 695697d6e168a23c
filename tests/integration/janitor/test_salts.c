#include <stdint.h>

#include "services/janitor/retention/days.h"
#include "tests/integration/janitor/janitor_fixture.h"
#include "tests/support/clock_fake.h"
#include "tests/support/test.h"

/* first and last: days since 1970-01-01. */
static void assert_salts(struct janitor_fixture *f, int32_t first, int32_t last)
{
	assert_int_equal(
		test_database_ask(f->db, "SELECT min(day) - DATE '1970-01-01' FROM visitor_salts"),
		first);
	assert_int_equal(
		test_database_ask(f->db, "SELECT max(day) - DATE '1970-01-01' FROM visitor_salts"),
		last);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM visitor_salts"),
	                 last - first + 1);
}

TEST_CASE(keeps_salts_for_today_and_two_days_ahead)
{
	struct janitor_fixture *f = *state;
	assert_int_equal(janitor_fixture_run_task(f, days_make_salts), 3);
	assert_salts(f, JANITOR_FIXTURE_DAY, JANITOR_FIXTURE_DAY + 2);
	assert_int_equal(janitor_fixture_run_task(f, days_make_salts), 0);
	for (int32_t day = JANITOR_FIXTURE_DAY + 1; day <= JANITOR_FIXTURE_DAY + 7; day++) {
		clock_fake_advance(&f->clock, CLOCK_US_PER_DAY);
		assert_int_equal(janitor_fixture_run_task(f, days_make_salts), 2);
		assert_salts(f, day, day + 2);
	}
}

TEST_CASE(deletes_a_salt_after_its_retention)
{
	struct janitor_fixture *f = *state;
	janitor_fixture_run_task(f, days_make_salts);
	/* 00:30, and then 01:00. */
	clock_fake_advance(&f->clock, 12 * CLOCK_US_PER_HOUR + CLOCK_US_PER_HOUR / 2);
	janitor_fixture_run_task(f, days_make_salts);
	assert_salts(f, JANITOR_FIXTURE_DAY, JANITOR_FIXTURE_DAY + 3);
	clock_fake_advance(&f->clock, CLOCK_US_PER_HOUR / 2);
	janitor_fixture_run_task(f, days_make_salts);
	assert_salts(f, JANITOR_FIXTURE_DAY + 1, JANITOR_FIXTURE_DAY + 3);
}

TEST_CASE(catches_up_after_days_without_a_janitor)
{
	struct janitor_fixture *f = *state;
	janitor_fixture_run_task(f, days_make_salts);
	janitor_fixture_run_task(f, days_make_partitions);
	clock_fake_advance(&f->clock, 30 * CLOCK_US_PER_DAY);
	janitor_fixture_run_task(f, days_make_salts);
	assert_salts(f, JANITOR_FIXTURE_DAY + 30, JANITOR_FIXTURE_DAY + 32);
	assert_int_equal(janitor_fixture_run_task(f, days_make_partitions),
	                 DAYS_OF_PARTITIONS_AHEAD);
}

TEST_MAIN(.set_up = janitor_fixture_set_up, .tear_down = janitor_fixture_tear_down)
