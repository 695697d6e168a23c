#include <stdint.h>

#include "services/janitor/destinations/destinations.h"
#include "tests/integration/janitor/janitor_fixture.h"
#include "tests/support/test.h"

#define DELAY_MS 10000

static struct host_reservation reserve(struct janitor_fixture *f, const char *host)
{
	struct host_reservation reservation;
	assert_int_equal(destinations_host_reserve(f->conn, host, &reservation), OK);
	return reservation;
}

static void save_robots(struct janitor_fixture *f, int64_t delay_ms)
{
	assert_int_equal(destinations_host_save_robots(f->conn, "a.example", delay_ms), OK);
}

TEST_CASE(asks_for_the_robots_txt_of_a_new_host)
{
	struct janitor_fixture *f = *state;
	assert_int_equal(reserve(f, "a.example").status, HOST_UNKNOWN);
	save_robots(f, 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(reserve(f, "a.example").status, HOST_RESERVED);
		assert_int_equal(reserve(f, "a.example").delay_ms, 0);
	}
	assert_int_equal(reserve(f, "b.example").status, HOST_UNKNOWN);
}

TEST_CASE(keeps_the_crawl_delay_and_gives_each_waiting_check_its_own_time)
{
	struct janitor_fixture *f = *state;
	/* Reading robots.txt was a request itself. */
	save_robots(f, DELAY_MS);
	for (int i = 0; i < 5; i++) {
		struct host_reservation reservation = reserve(f, "a.example");
		assert_int_equal(reservation.status, HOST_WAIT);
		int64_t slot_ms = DELAY_MS + i * (DELAY_MS + HOST_SLACK_MS);
		assert_in_range(reservation.wait_ms, slot_ms - 5000, slot_ms);
	}
	test_database_run(f->db, "UPDATE destination_hosts SET free_at = now()");
	struct host_reservation reservation = reserve(f, "a.example");
	assert_int_equal(reservation.status, HOST_RESERVED);
	assert_int_equal(reservation.delay_ms, DELAY_MS);
	assert_int_equal(reserve(f, "a.example").status, HOST_WAIT);
}

TEST_CASE(asks_for_the_robots_txt_again_after_a_day_but_keeps_the_delay)
{
	struct janitor_fixture *f = *state;
	save_robots(f, DELAY_MS);
	test_database_run(f->db,
	                  "UPDATE destination_hosts SET robots_read_at = now() - interval '25 h'");
	assert_int_equal(reserve(f, "a.example").status, HOST_WAIT);
	test_database_run(f->db, "UPDATE destination_hosts SET free_at = now()");
	assert_int_equal(reserve(f, "a.example").status, HOST_UNKNOWN);
	save_robots(f, 0);
	assert_int_equal(reserve(f, "a.example").status, HOST_RESERVED);
}

TEST_CASE(deletes_hosts_without_a_request_for_two_days)
{
	struct janitor_fixture *f = *state;
	save_robots(f, 0);
	test_database_run(
		f->db, "INSERT INTO destination_hosts SELECT 'h' || i, 0, now() - interval '49 h', "
		       "now() - interval '49 h', now() FROM generate_series(1, 5) AS i");
	test_database_run(
		f->db,
		"INSERT INTO destination_hosts VALUES ('resting', 1, now() - interval '49 h', "
		"now() + interval '1 h', now())");
	assert_int_equal(destinations_host_delete_stale(f->conn, 3), OK);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM destination_hosts"), 4);
	assert_int_equal(destinations_host_delete_stale(f->conn, 3), OK);
	assert_int_equal(destinations_host_delete_stale(f->conn, 3), OK);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM destination_hosts"), 2);
}

TEST_MAIN(.set_up = janitor_fixture_set_up, .tear_down = janitor_fixture_tear_down)
