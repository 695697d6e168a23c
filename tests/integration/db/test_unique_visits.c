/*
 * The visit log itself guarantees that only one visit of a visitor to a link on a day is unique,
 * with and without a partition for the day.
 */
#include <stdint.h>

#include "tests/support/test.h"
#include "tests/support/test_database.h"

TEST_CASE(accepts_one_unique_visit_per_visitor_link_and_day)
{
	struct test_database *db = test_database_new();
	struct pg_conn *conn = test_database_connect(db, "waymark_consumer");
	static const char insert[] =
		"INSERT INTO visit_log (day, event_id, occurred_at, link_id, slug, status, latency_us, is_bot, is_unique, "
		"visitor_hash) VALUES ($1, gen_random_uuid(), now(), $2, 'slug', 302, 1, false, $3, $4)";
	for (int with_partition = 0; with_partition < 2; with_partition++) {
		struct pg_params p = { 0 };
		pg_params_text(&p, with_partition ? "2026-11-01" : "2026-11-02");
		pg_params_int(&p, 1);
		pg_params_bool(&p, true);
		pg_params_bytes(&p, "visitor", 7);
		if (with_partition)
			test_database_run(db, "SELECT visit_log_make_partition('2026-11-01')");
		assert_int_equal(pg_conn_query(conn, insert, &p, NULL), OK);
		assert_int_equal(pg_conn_query(conn, insert, &p, NULL), ERR_CONFLICT);
		p.values[2] = "f";
		assert_int_equal(pg_conn_query(conn, insert, &p, NULL), OK);
		p.values[2] = "t";
		p.values[1] = "2";
		assert_int_equal(pg_conn_query(conn, insert, &p, NULL), OK);
	}
	/* A partition that is created later takes over the rows and the constraint. */
	test_database_run(db, "SELECT visit_log_make_partition('2026-11-02')");
	struct pg_params p = { 0 };
	pg_params_text(&p, "2026-11-02");
	pg_params_int(&p, 1);
	pg_params_bool(&p, true);
	pg_params_bytes(&p, "visitor", 7);
	assert_int_equal(pg_conn_query(conn, insert, &p, NULL), ERR_CONFLICT);
	pg_conn_close(conn);
	test_database_close(db);
}

TEST_MAIN()
