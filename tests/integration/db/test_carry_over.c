/* What migrations make of the rows that they find. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include "tests/support/test_database.h"

#define ROLLUPS 12
#define FINISHED_DAYS 17
#define LINK_COUNTS 26

/* The oldest books: hours of five dimensions, totals among them, and visitors by their whole hash. */
static void takes_over_hours_from_before_there_were_quarters_and_days(void **state)
{
	(void)state;
	struct test_database *db = test_database_new_before(ROLLUPS);
	test_database_run(
		db,
		"INSERT INTO visit_rollup_hour (link_id, bucket, dimension, value, humans, bots) VALUES "
		"(1, '2026-10-01T22:00:00Z', 'total', '', 7, 2), (1, '2026-10-01T23:00:00Z', 'total', '', 3, 0), "
		"(1, '2026-10-02T00:00:00Z', 'total', '', 5, 1), (1, '2026-10-01T22:00:00Z', 'country', 'DE', 4, 1), "
		"(1, '2026-10-01T22:00:00Z', 'country', '', 3, 1), (1, '2026-10-01T23:00:00Z', 'country', 'DE', 2, 0), "
		"(1, '2026-10-02T00:00:00Z', 'country', 'DE', 5, 1), (2, '2026-10-01T22:00:00Z', 'os', 'Linux', 1, 0)");
	test_database_migrate(db);
	assert_int_equal(
		test_database_ask(db, "SELECT count(*) FROM (VALUES ('2026-10-01T22:00:00Z'::timestamptz, 7, 2), "
	                              "('2026-10-01T23:00:00Z', 3, 0), ('2026-10-02T00:00:00Z', 5, 1)) AS wanted "
	                              "(bucket, humans, bots) JOIN visit_rollup_quarter USING (bucket, humans, bots) "
	                              "WHERE link_id = 1 AND uniques = 0"),
		3);
	assert_int_equal(test_database_ask(db, "SELECT count(*) FROM visit_rollup_quarter"), 3);
	assert_int_equal(test_database_ask(db, "SELECT count(*) FROM visit_rollup_hour"), 4);
	assert_int_equal(test_database_ask(
				 db, "SELECT count(*) FROM visit_rollup_hour WHERE (link_id, bucket, dimension, value, "
				     "humans, bots) = (1, '2026-10-01T22:00:00Z', 'country', 'DE', 4, 1)"),
	                 1);
	assert_int_equal(
		test_database_ask(
			db, "SELECT count(*) FROM (VALUES (1, date '2026-10-01', 'country', 'DE', 6, 1), "
			    "(1, '2026-10-02', 'country', 'DE', 5, 1), (2, '2026-10-01', 'os', 'Linux', 1, 0)) "
			    "AS wanted (link, day, dimension, value, humans, bots) JOIN visit_rollup_day AS d "
			    "ON (d.link_id, d.day, d.dimension::text, d.value, d.humans, d.bots) = "
			    "(wanted.link, wanted.day, wanted.dimension, wanted.value, wanted.humans, wanted.bots)"),
		3);
	assert_int_equal(test_database_ask(db, "SELECT count(*) FROM visit_rollup_day"), 3);
	test_database_drop(db);
}

#define DIFFERENT_DAYS                                                                                                 \
	"SELECT count(*) FROM (SELECT link_id, (bucket AT TIME ZONE 'UTC')::date AS day, dimension, value, "           \
	"sum(humans)::bigint AS humans FROM visit_rollup_hour GROUP BY 1, 2, 3, 4) AS h "                              \
	"FULL JOIN visit_rollup_day AS d USING (link_id, day, dimension, value) "                                      \
	"WHERE h.humans IS DISTINCT FROM d.humans"

/* Days that were counted by each batch: those that are over are complete, today is made anew when it is over. */
static void takes_days_that_are_over_for_finished(void **state)
{
	(void)state;
	struct test_database *db = test_database_new_before(FINISHED_DAYS);
	test_database_run(db, "INSERT INTO visit_rollup_quarter (link_id, bucket, humans) SELECT link, "
	                      "date_trunc('day', now(), 'UTC') - day * interval '1 day', 10 "
	                      "FROM generate_series(1, 3) AS link, generate_series(0, 2) AS day");
	test_database_run(db, "INSERT INTO visit_rollup_hour (link_id, bucket, dimension, value, humans) "
	                      "SELECT link_id, bucket, 'city', 'Bonn', humans FROM visit_rollup_quarter");
	test_database_run(
		db,
		"INSERT INTO visit_rollup_day (link_id, day, dimension, value, humans) "
		"SELECT link_id, (bucket AT TIME ZONE 'UTC')::date, dimension, value, humans FROM visit_rollup_hour");
	test_database_run(db, "INSERT INTO link_statistics (link_id, visit_count, last_visited_at) "
	                      "SELECT link_id, 30, now() FROM generate_series(1, 3) AS link_id");
	test_database_migrate(db);
	assert_int_equal(test_database_ask(db, "SELECT (now() AT TIME ZONE 'UTC')::date - next_day FROM finished_days"),
	                 0);
	assert_int_equal(test_database_ask(db, DIFFERENT_DAYS), 0);
	/* A consumer of before goes on for a while, and one of now counts the last click of the day. */
	test_database_run(db, "UPDATE visit_rollup_hour SET humans = humans + 4 WHERE link_id = 2");
	test_database_run(db, "UPDATE visit_rollup_day SET humans = humans + 4 WHERE link_id = 2");
	test_database_run(
		db, "UPDATE visit_rollup_hour SET humans = humans + 1 WHERE bucket = date_trunc('day', now(), 'UTC')");
	assert_int_equal(test_database_ask(db, DIFFERENT_DAYS), 3);
	while (test_database_ask(db, "SELECT finished_days_advance((now() AT TIME ZONE 'UTC')::date, 1000)") > 0)
		continue;
	assert_int_equal(test_database_ask(db, DIFFERENT_DAYS), 0);
	/* Totals begin with the first day that was finished. */
	assert_int_equal(test_database_ask(db, "SELECT count(*) FROM visit_total_day"), 3);
	assert_int_equal(
		test_database_ask(db, "SELECT count(*) FROM visit_total_day, finished_days WHERE day < totals_since"),
		0);
	test_database_drop(db);
}

/* Links of everybody: those that are there, and what becomes of them and of others behind it. */
static void counts_the_links_that_are_there_for_everybody(void **state)
{
	(void)state;
	static const char everybodys[] = "SELECT sum(links)::bigint FROM link_counts WHERE owner_id = -1";
	struct test_database *db = test_database_new_before(LINK_COUNTS);
	test_database_run(db, "INSERT INTO links (slug, link_type, expires_at, original_url, state) "
	                      "SELECT 's' || i, 'TEMPORARY', now() + interval '1 day', 'https://example.com/', "
	                      "CASE WHEN i > 7 THEN 'DELETED' ELSE 'ACTIVE' END FROM generate_series(1, 10) AS i");
	test_database_migrate(db);
	assert_int_equal(test_database_ask(db, everybodys), 7);
	test_database_run(db, "UPDATE links SET state = 'DELETED' WHERE slug IN ('s1', 's2')");
	test_database_run(db, "UPDATE links SET state = 'ACTIVE' WHERE slug = 's10'");
	test_database_run(db, "DELETE FROM links WHERE slug IN ('s1', 's3', 's9')");
	assert_int_equal(test_database_ask(db, everybodys), 5);
	assert_int_equal(test_database_ask(db, "SELECT sum(links)::bigint FROM link_counts WHERE owner_id = 0"), 5);
	test_database_drop(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_over_hours_from_before_there_were_quarters_and_days),
		cmocka_unit_test(takes_days_that_are_over_for_finished),
		cmocka_unit_test(counts_the_links_that_are_there_for_everybody),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
