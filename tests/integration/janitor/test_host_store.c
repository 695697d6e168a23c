#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include "services/janitor/destinations/host_store.h"
#include "tests/integration/janitor/janitor_fixture.h"

#define DELAY_MS 10000

static struct host_store_reservation take(struct janitor_fixture *f, const char *host)
{
	struct host_store_reservation answer;
	assert_int_equal(host_store_reserve(f->conn, host, &answer), OK);
	return answer;
}

static void learn(struct janitor_fixture *f, int64_t delay_ms)
{
	assert_int_equal(host_store_save_robots(f->conn, "a.example", delay_ms), OK);
}

static void wants_to_know_a_new_host_first(void **state)
{
	struct janitor_fixture *f = *state;
	assert_int_equal(take(f, "a.example").turn, HOST_STORE_UNKNOWN);
	learn(f, 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(take(f, "a.example").turn, HOST_STORE_RESERVED);
		assert_int_equal(take(f, "a.example").delay_ms, 0);
	}
	assert_int_equal(take(f, "b.example").turn, HOST_STORE_UNKNOWN);
}

static void lets_a_host_rest_and_gives_each_who_waits_a_time_of_his_own(void **state)
{
	struct janitor_fixture *f = *state;
	/* Reading its robots.txt was a request, too. */
	learn(f, DELAY_MS);
	for (int i = 0; i < 5; i++) {
		struct host_store_reservation answer = take(f, "a.example");
		assert_int_equal(answer.turn, HOST_STORE_WAIT);
		int64_t turn_ms = DELAY_MS + i * (DELAY_MS + HOST_STORE_SLACK_MS);
		assert_in_range(answer.wait_ms, turn_ms - 5000, turn_ms);
	}
	test_database_run(f->db, "UPDATE destination_hosts SET free_at = now()");
	struct host_store_reservation answer = take(f, "a.example");
	assert_int_equal(answer.turn, HOST_STORE_RESERVED);
	assert_int_equal(answer.delay_ms, DELAY_MS);
	assert_int_equal(take(f, "a.example").turn, HOST_STORE_WAIT);
}

static void wants_to_know_anew_after_a_day_but_not_before_the_host_has_rested(void **state)
{
	struct janitor_fixture *f = *state;
	learn(f, DELAY_MS);
	test_database_run(f->db, "UPDATE destination_hosts SET robots_read_at = now() - interval '25 h'");
	assert_int_equal(take(f, "a.example").turn, HOST_STORE_WAIT);
	test_database_run(f->db, "UPDATE destination_hosts SET free_at = now()");
	assert_int_equal(take(f, "a.example").turn, HOST_STORE_UNKNOWN);
	learn(f, 0);
	assert_int_equal(take(f, "a.example").turn, HOST_STORE_RESERVED);
}

static void forgets_hosts_that_nobody_has_asked_for_two_days(void **state)
{
	struct janitor_fixture *f = *state;
	learn(f, 0);
	test_database_run(f->db, "INSERT INTO destination_hosts SELECT 'h' || i, 0, now() - interval '49 h', "
	                         "now() - interval '49 h', now() FROM generate_series(1, 5) AS i");
	test_database_run(f->db, "INSERT INTO destination_hosts VALUES ('resting', 1, now() - interval '49 h', "
	                         "now() + interval '1 h', now())");
	assert_int_equal(host_store_delete_stale(f->conn, 3), OK);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM destination_hosts"), 4);
	assert_int_equal(host_store_delete_stale(f->conn, 3), OK);
	assert_int_equal(host_store_delete_stale(f->conn, 3), OK);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM destination_hosts"), 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, janitor_fixture_set_up, janitor_fixture_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(wants_to_know_a_new_host_first),
		TEST(lets_a_host_rest_and_gives_each_who_waits_a_time_of_his_own),
		TEST(wants_to_know_anew_after_a_day_but_not_before_the_host_has_rested),
		TEST(forgets_hosts_that_nobody_has_asked_for_two_days),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
