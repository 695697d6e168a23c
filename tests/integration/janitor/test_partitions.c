#include <stdint.h>
#include <stdio.h>

#include "services/janitor/retention/days.h"
#include "tests/integration/janitor/janitor_fixture.h"
#include "tests/support/clock_fake.h"
#include "tests/support/test.h"

#define ALL (1 + DAYS_OF_PARTITIONS_AHEAD)

TEST_CASE(makes_partitions_for_today_and_a_month_ahead)
{
	struct janitor_fixture *f = *state;
	assert_int_equal(janitor_fixture_run_task(f, days_make_partitions), ALL);
	assert_int_equal(test_database_ask(f->db, janitor_fixture_count_partitions), ALL);
	assert_int_equal(janitor_fixture_run_task(f, days_make_partitions), 0);
	for (int days = 1; days <= 5; days++) {
		clock_fake_advance(&f->clock, CLOCK_US_PER_DAY);
		assert_int_equal(janitor_fixture_run_task(f, days_make_partitions), 1);
		assert_int_equal(test_database_ask(f->db, janitor_fixture_count_partitions),
		                 ALL + days);
	}
	assert_int_equal(test_database_ask(f->db,
	                                   "SELECT count(to_regclass('visit_log_20241004')) + "
	                                   "count(to_regclass('visit_log_20241108'))"),
	                 2);
}

/* Clicks that come before their day has a partition. */
static void add_visits(struct janitor_fixture *f, const char *day, int count)
{
	char sql[320];
	snprintf(
		sql, sizeof(sql),
		"INSERT INTO visit_log (day, event_id, occurred_at, link_id, slug, status, latency_us, is_bot) "
		"SELECT '%s', gen_random_uuid(), '%sT08:00:00Z', 1, 'a', 302, n, false "
		"FROM generate_series(1, %d) AS n",
		day, day, count);
	test_database_run(f->db, sql);
}

#define IN_DEFAULT "SELECT count(*) FROM visit_log_default"

TEST_CASE(moves_clicks_into_the_partition_of_their_day_that_came_before_it)
{
	struct janitor_fixture *f = *state;
	add_visits(f, "2024-10-05", RUN_BATCH_ROWS);
	add_visits(f, "2024-11-04", 1);
	assert_int_equal(janitor_fixture_run_task(f, days_make_partitions), ALL);
	assert_int_equal(test_database_ask(f->db, IN_DEFAULT), 1);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM visit_log_20241005"),
	                 RUN_BATCH_ROWS);
	/* A clock that is far ahead does not keep its day out of the log for good. */
	clock_fake_advance(&f->clock, CLOCK_US_PER_DAY);
	assert_int_equal(janitor_fixture_run_task(f, days_make_partitions), 1);
	assert_int_equal(test_database_ask(f->db, IN_DEFAULT), 0);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM visit_log"),
	                 RUN_BATCH_ROWS + 1);
}

TEST_CASE(leaves_a_day_in_the_default_partition_that_has_more_clicks_than_it_moves)
{
	struct janitor_fixture *f = *state;
	add_visits(f, "2024-10-05", RUN_BATCH_ROWS + 1);
	assert_int_equal(janitor_fixture_run_task(f, days_make_partitions), ALL - 1);
	add_visits(f, "2024-10-05", 1);
	add_visits(f, "2024-10-06", 1);
	assert_int_equal(test_database_ask(f->db, IN_DEFAULT), RUN_BATCH_ROWS + 2);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM visit_log_20241006"), 1);
	assert_int_equal(janitor_fixture_run_task(f, days_make_partitions), 0);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM visit_log"),
	                 RUN_BATCH_ROWS + 3);
}

/* The trigger stands for a default partition that takes long to read. */
TEST_CASE(gives_up_rather_than_let_batches_wait_for_a_large_default_partition)
{
	struct janitor_fixture *f = *state;
	test_database_run(f->db,
	                  "CREATE FUNCTION read_slowly() RETURNS event_trigger LANGUAGE plpgsql AS "
	                  "'BEGIN PERFORM pg_sleep(10); END'");
	test_database_run(f->db, "CREATE EVENT TRIGGER slow ON ddl_command_start "
	                         "WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION read_slowly()");
	add_visits(f, "2024-10-04", 1);
	assert_int_equal(janitor_fixture_run_task(f, days_make_partitions), 0);
	assert_int_equal(test_database_ask(f->db, IN_DEFAULT), 1);
	test_database_run(f->db, "DROP EVENT TRIGGER slow");
	assert_int_equal(janitor_fixture_run_task(f, days_make_partitions), ALL);
	assert_int_equal(test_database_ask(f->db, IN_DEFAULT), 0);
}

TEST_CASE(gives_up_rather_than_block_readers)
{
	struct janitor_fixture *f = *state;
	struct pg_conn *reader = test_database_connect(f->db, NULL);
	int64_t changed = 0;
	assert_int_equal(pg_conn_begin(reader), OK);
	assert_int_equal(pg_conn_query(reader, "SELECT count(*) FROM visit_log", NULL, NULL), OK);
	pg_conn_set_log(f->conn, NULL);
	assert_int_equal(days_make_partitions(&f->run, &changed), ERR_LIMIT);
	assert_int_equal(changed, 0);
	assert_int_equal(pg_conn_commit(reader), OK);
	pg_conn_close(reader);
	assert_int_equal(janitor_fixture_run_task(f, days_make_partitions), ALL);
}

TEST_MAIN(.set_up = janitor_fixture_set_up, .tear_down = janitor_fixture_tear_down)
