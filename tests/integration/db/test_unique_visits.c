/* That the log proves who is unique, also on a database that has counted before it did (0016_unique_visits.sql). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include "tests/support/test_database.h"

/* Two days, one without a partition; 20 links with 5 visitors, each of whom comes three times and is unique twice. */
static const char visits_sql[] =
	"SELECT visit_log_make_partition(date '2026-11-01');"
	"INSERT INTO visit_log (day, event_id, occurred_at, link_id, slug, status, latency_us, is_bot, visitor_hash, is_unique, "
	"country, os) "
	"SELECT day, gen_random_uuid(), day + n * interval '25 minutes', link, 'slug', 302, 1, false, "
	"sha256(visitor::text::bytea), n < 3, CASE visitor % 2 WHEN 0 THEN 'DE' ELSE '' END, 'Linux' "
	"FROM unnest('{2026-11-01,2026-11-02}'::date[]) AS day, generate_series(1, 20) AS link, "
	"generate_series(1, 5) AS visitor, generate_series(1, 3) AS n;"
	"INSERT INTO visit_log (day, event_id, occurred_at, link_id, slug, status, latency_us, is_bot, is_unique) "
	"SELECT '2026-11-01', gen_random_uuid(), '2026-11-01', 1, 'slug', 302, 1, false, true FROM generate_series(1, 2)";

#define SUMS "count(*) FILTER (WHERE NOT is_bot), count(*) FILTER (WHERE is_bot), count(*) FILTER (WHERE is_unique)"
#define BOOKS                                                                                                          \
	"SELECT link_id, 'quarter', date_bin('15 minutes', occurred_at, 'epoch')::text, '', " SUMS                     \
	" FROM visit_log GROUP BY 1, 3 "                                                                               \
	"UNION ALL SELECT link_id, 'os hour', date_bin('1 hour', occurred_at, 'epoch')::text, os, " SUMS               \
	" FROM visit_log WHERE os <> '' GROUP BY 1, 3, 4 "                                                             \
	"UNION ALL SELECT link_id, 'country hour', date_bin('1 hour', occurred_at, 'epoch')::text, country, " SUMS     \
	" FROM visit_log WHERE country <> '' GROUP BY 1, 3, 4 "                                                        \
	"UNION ALL SELECT link_id, 'os day', day::text, os, " SUMS " FROM visit_log WHERE os <> '' GROUP BY 1, 3, 4 "  \
	"UNION ALL SELECT link_id, 'country day', day::text, country, " SUMS                                           \
	" FROM visit_log WHERE country <> '' GROUP BY 1, 3, 4 "                                                        \
	"UNION ALL SELECT link_id, 'statistics', '', '', " SUMS " FROM visit_log GROUP BY 1 "                          \
	"UNION ALL SELECT 0, 'statistics', '', '', " SUMS " FROM visit_log"
#define STORED                                                                                                         \
	"SELECT link_id, 'quarter', bucket::text, '', humans, bots, uniques FROM visit_rollup_quarter "                \
	"UNION ALL SELECT link_id, dimension || ' hour', bucket::text, value, humans, bots, uniques "                  \
	"FROM visit_rollup_hour "                                                                                      \
	"UNION ALL SELECT link_id, dimension || ' day', day::text, value, humans, bots, uniques "                      \
	"FROM visit_rollup_day "                                                                                       \
	"UNION ALL SELECT link_id, 'statistics', '', '', visit_count, bot_count, unique_visitors FROM link_statistics"

static void roll_up(struct test_database *db)
{
	test_database_run(db, "INSERT INTO visit_rollup_quarter (link_id, bucket, humans, bots, uniques) "
	                      "SELECT link_id, date_bin('15 minutes', occurred_at, 'epoch'), " SUMS
	                      " FROM visit_log GROUP BY 1, 2");
	test_database_run(db,
	                  "INSERT INTO visit_rollup_hour (link_id, bucket, dimension, value, humans, bots, uniques) "
	                  "SELECT link_id, date_bin('1 hour', occurred_at, 'epoch'), dimension, value, " SUMS
	                  " FROM visit_log CROSS JOIN LATERAL (VALUES ('os'::visit_dimension, os), "
	                  "('country', country)) AS pair (dimension, value) WHERE value <> '' GROUP BY 1, 2, 3, 4");
	test_database_run(db, "INSERT INTO visit_rollup_day (link_id, day, dimension, value, humans, bots, uniques) "
	                      "SELECT link_id, (bucket AT TIME ZONE 'UTC')::date, dimension, value, sum(humans), "
	                      "sum(bots), sum(uniques) FROM visit_rollup_hour GROUP BY 1, 2, 3, 4");
	test_database_run(db, "INSERT INTO link_statistics (link_id, visit_count, bot_count, unique_visitors) "
	                      "SELECT link_id, " SUMS " FROM visit_log GROUP BY 1 UNION ALL SELECT 0, " SUMS
	                      " FROM visit_log");
}

static int64_t differences(struct test_database *db)
{
	return test_database_ask(db, "SELECT count(*) FROM (((" BOOKS ") EXCEPT (" STORED ")) UNION ALL ((" STORED
	                             ") EXCEPT (" BOOKS "))) AS difference");
}

static void add_visits(struct test_database *db)
{
	struct pg_conn *conn = test_database_connect(db, NULL);
	assert_int_equal(pg_conn_script(conn, visits_sql), OK);
	pg_conn_close(conn);
}

static void leaves_one_unique_visit_of_each_visitor_and_books_that_say_so(void **state)
{
	(void)state;
	struct test_database *db = test_database_new_before(16);
	add_visits(db);
	roll_up(db);
	assert_int_equal(differences(db), 0);
	assert_int_equal(test_database_ask(db, "SELECT unique_visitors FROM link_statistics WHERE link_id = 0"), 402);
	/* The first link has been purged, and a click of it came late. */
	test_database_run(db, "DELETE FROM visit_rollup_hour WHERE link_id = 1");
	test_database_run(db, "DELETE FROM visit_rollup_quarter WHERE link_id = 1 AND bucket < '2026-11-01 01:00Z'");
	test_database_migrate(db, 16);
	assert_int_equal(test_database_ask(db, "SELECT unique_visitors FROM link_statistics WHERE link_id = 0"), 202);
	assert_int_equal(test_database_ask(db, "SELECT count(*) FROM visit_log WHERE is_unique"), 202);
	assert_int_equal(test_database_ask(db, "SELECT count(*) FROM (SELECT DISTINCT ON (day, link_id, visitor_hash) "
	                                       "is_unique FROM visit_log WHERE visitor_hash <> '' "
	                                       "ORDER BY day, link_id, visitor_hash, occurred_at) AS first "
	                                       "WHERE is_unique"),
	                 200);
	test_database_run(db, "DELETE FROM visit_rollup_quarter WHERE link_id = 1");
	test_database_run(db, "DELETE FROM visit_rollup_day WHERE link_id = 1");
	test_database_run(db, "DELETE FROM link_statistics WHERE link_id IN (0, 1)");
	test_database_run(db, "DELETE FROM visit_log WHERE link_id = 1");
	test_database_run(db, "INSERT INTO link_statistics (link_id, visit_count, bot_count, unique_visitors) "
	                      "SELECT 0, " SUMS " FROM visit_log");
	assert_int_equal(differences(db), 0);
	test_database_drop(db);
}

static void lets_one_visit_of_a_visitor_be_unique_in_whichever_partition(void **state)
{
	(void)state;
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
	/* A partition that is made later takes what was there, and the rule with it. */
	test_database_run(db, "SELECT visit_log_make_partition('2026-11-02')");
	struct pg_params p = { 0 };
	pg_params_text(&p, "2026-11-02");
	pg_params_int(&p, 1);
	pg_params_bool(&p, true);
	pg_params_bytes(&p, "visitor", 7);
	assert_int_equal(pg_conn_query(conn, insert, &p, NULL), ERR_CONFLICT);
	pg_conn_close(conn);
	test_database_drop(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_one_unique_visit_of_each_visitor_and_books_that_say_so),
		cmocka_unit_test(lets_one_visit_of_a_visitor_be_unique_in_whichever_partition),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
