#include <stdint.h>

#include "services/janitor/links/links.h"
#include "tests/integration/janitor/janitor_fixture.h"
#include "tests/support/test.h"

TEST_CASE(expires_and_purges_in_batches_until_nothing_is_due)
{
	struct janitor_fixture *f = *state;
	janitor_fixture_add_links(
		f, "'ACTIVE', clock_timestamp(), clock_timestamp() - interval '1 s'");
	assert_int_equal(janitor_fixture_run_task(f, links_expire), 2500);
	assert_int_equal(
		test_database_ask(f->db, "SELECT count(*) FROM links WHERE state = 'EXPIRED'"),
		2500);
	/* Three transactions, or more on a slow machine. */
	assert_true(test_database_ask(f->db, "SELECT count(DISTINCT xmin::text) FROM links") >= 3);
	assert_true(
		test_database_ask(
			f->db,
			"SELECT max(n) FROM (SELECT count(*) AS n FROM links GROUP BY xmin::text) AS batch") <=
		RUN_BATCH_ROWS);
	assert_int_equal(janitor_fixture_run_task(f, links_expire), 0);
	test_database_run(f->db, "UPDATE links SET state_since = state_since - interval '901 s'");
	assert_int_equal(janitor_fixture_run_task(f, links_expire), 2500);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links"), 0);
	assert_int_equal(
		test_database_ask(f->db, "SELECT count(*) FROM link_tombstones WHERE version = 3"),
		2500);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox"), 5000);
}

TEST_CASE(purges_deleted_links_at_once_without_a_grace_period)
{
	struct janitor_fixture *f = *state;
	janitor_fixture_add_links(
		f, "'DELETED', clock_timestamp(), clock_timestamp() + interval '1 h'");
	assert_int_equal(janitor_fixture_run_task(f, links_expire), 2500);
	assert_int_equal(
		test_database_ask(
			f->db, "SELECT count(*) FROM link_tombstones WHERE last_state = 'DELETED'"),
		2500);
}

TEST_CASE(does_not_purge_a_link_in_the_run_that_expired_it)
{
	struct janitor_fixture *f = *state;
	janitor_fixture_add_links(
		f,
		"'ACTIVE', clock_timestamp() - interval '1 day', clock_timestamp() - interval '1 day'");
	assert_int_equal(janitor_fixture_run_task(f, links_expire), 2500);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links"), 2500);
}

TEST_CASE(stops_after_the_current_batch_on_shutdown)
{
	struct janitor_fixture *f = *state;
	janitor_fixture_add_links(
		f, "'ACTIVE', clock_timestamp(), clock_timestamp() - interval '1 s'");
	shutdown_request(f->shutdown);
	assert_int_equal(janitor_fixture_run_task(f, links_expire), 0);
	assert_true(f->run.is_interrupted);
}

TEST_CASE(keeps_to_the_configured_links_per_second)
{
	struct janitor_fixture *f = *state;
	janitor_fixture_add_links(
		f, "'ACTIVE', clock_timestamp(), clock_timestamp() - interval '1 s'");
	f->config.expiry_links_per_s = 10000;
	int64_t began_us = clock_steady_us(clock_system());
	assert_int_equal(janitor_fixture_run_task(f, links_expire), 2500);
	assert_true(clock_steady_us(clock_system()) - began_us >= 250 * CLOCK_US_PER_MS);
	assert_int_equal(
		test_database_ask(
			f->db,
			"SELECT max(n) FROM (SELECT count(*) AS n FROM links GROUP BY xmin::text) AS batch"),
		500);
}

TEST_MAIN(.set_up = janitor_fixture_set_up, .tear_down = janitor_fixture_tear_down)
