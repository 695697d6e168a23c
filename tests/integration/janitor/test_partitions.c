#include <stdint.h>

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

#define VISIT(day, id)                                                                                   \
	"INSERT INTO visit_log (day, event_id, occurred_at, link_id, slug, status, latency_us, is_bot) " \
	"VALUES ('" day "', '00000000-0000-0000-0000-00000000000" id "', '" day                          \
	"T08:00:00Z', 1, 'a', 302, 1, false)"

TEST_CASE(leaves_clicks_where_they_are_that_came_before_their_partition)
{
	struct janitor_fixture *f = *state;
	test_database_run(f->db, VISIT("2024-10-05", "1"));
	test_database_run(f->db, VISIT("2025-10-05", "2"));
	assert_int_equal(janitor_fixture_run_task(f, days_make_partitions), ALL - 1);
	test_database_run(f->db, VISIT("2024-10-05", "3"));
	test_database_run(f->db, VISIT("2024-10-06", "4"));
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM visit_log_20241006"), 1);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM visit_log_default"), 3);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM visit_log"), 4);
	assert_int_equal(janitor_fixture_run_task(f, days_make_partitions), 0);
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
