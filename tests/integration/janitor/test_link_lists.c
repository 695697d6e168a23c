#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <stdio.h>

#include "services/janitor/links/link_lists.h"
#include "tests/integration/janitor/janitor_fixture.h"

static int64_t count_in_order(struct janitor_fixture *f)
{
	return test_database_ask(f->db, "SELECT count(*) FROM link_ranking JOIN link_statistics USING (link_id) "
	                                "WHERE visits = visit_count AND visited_at = last_visited_at");
}

/* As a batch of clicks. */
static void count_visits(struct janitor_fixture *f)
{
	test_database_run(f->db, "INSERT INTO link_statistics AS old (link_id, visit_count, last_visited_at) "
	                         "SELECT id, id, clock_timestamp() FROM links "
	                         "ON CONFLICT (link_id) DO UPDATE SET visit_count = old.visit_count + 1, "
	                         "last_visited_at = EXCLUDED.last_visited_at");
}

static void brings_the_order_of_links_up_to_their_statistics(void **state)
{
	struct janitor_fixture *f = *state;
	janitor_fixture_add_links(f, "'ACTIVE', clock_timestamp(), clock_timestamp() + interval '1 day'");
	for (int i = 0; i < 3; i++) {
		count_visits(f);
		assert_int_equal(count_in_order(f), 0);
		assert_int_equal(janitor_fixture_run_task(f, link_lists_run), 2500);
		assert_int_equal(count_in_order(f), 2500);
	}
	assert_int_equal(janitor_fixture_run_task(f, link_lists_run), 0);
}

static void walks_through_all_statistics_when_changes_were_not_noted(void **state)
{
	struct janitor_fixture *f = *state;
	janitor_fixture_add_links(f, "'ACTIVE', clock_timestamp(), clock_timestamp() + interval '1 day'");
	test_database_run(f->db, "UPDATE link_ranking_sweep SET is_behind = true");
	count_visits(f);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM link_statistics_changes"), 0);
	janitor_fixture_run_task(f, link_lists_run);
	assert_int_equal(count_in_order(f), 2500);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM link_ranking_sweep "
	                                          "WHERE NOT is_behind AND next_link IS NULL"),
	                 1);
}

static void sorts_new_links_into_the_index_of_searches(void **state)
{
	struct janitor_fixture *f = *state;
	static const char pending[] =
		"SELECT (gin_metapage_info(get_raw_page('links_search_idx', 0))).n_pending_tuples";
	test_database_run(f->db, "CREATE EXTENSION pageinspect");
	janitor_fixture_add_links(f, "'ACTIVE', clock_timestamp(), clock_timestamp() + interval '1 day'");
	assert_true(test_database_ask(f->db, pending) > 0);
	janitor_fixture_run_task(f, link_lists_run);
	assert_int_equal(test_database_ask(f->db, pending), 0);
}

static void add_links_of_one_kind(struct janitor_fixture *f)
{
	test_database_run(f->db, "INSERT INTO links (slug, link_type, expires_at, original_url, title) "
	                         "SELECT 'x' || i, 'TEMPORARY', clock_timestamp() + interval '1 day', "
	                         "'https://example.com/', CASE WHEN i % 100 = 0 THEN 'Seldom' ELSE '' END || "
	                         "CASE WHEN i <= 3 THEN 'Hardly' ELSE '' END FROM generate_series(1, 6000) AS i");
	test_database_run(f->db, "ANALYZE links");
}

static int64_t links_with(struct janitor_fixture *f, const char *trigram)
{
	char sql[128];
	(void)snprintf(sql, sizeof(sql),
	               "SELECT coalesce(sum(links), 0)::bigint FROM link_search_trigrams WHERE trigram = '%s'",
	               trigram);
	return test_database_ask(f->db, sql);
}

static void knows_from_a_sample_what_many_links_have(void **state)
{
	struct janitor_fixture *f = *state;
	janitor_fixture_run_task(f, link_lists_run);
	assert_int_equal(test_database_ask(f->db, "SELECT links FROM link_search_count"), 0);
	add_links_of_one_kind(f);
	janitor_fixture_run_task(f, link_lists_run);
	assert_int_equal(test_database_ask(f->db, "SELECT links FROM link_search_count"), 6000);
	assert_int_equal(links_with(f, "exa"), 6000);
	assert_in_range(links_with(f, "dom"), 30, 90);
	assert_int_equal(links_with(f, "rdl"), 0);
}

static void samples_again_when_links_have_doubled_or_after_an_hour(void **state)
{
	struct janitor_fixture *f = *state;
	add_links_of_one_kind(f);
	janitor_fixture_run_task(f, link_lists_run);
	test_database_run(f->db, "DELETE FROM link_search_trigrams");
	janitor_fixture_run_task(f, link_lists_run);
	assert_int_equal(links_with(f, "exa"), 0);
	test_database_run(f->db, "UPDATE link_search_count SET links = 3000");
	janitor_fixture_run_task(f, link_lists_run);
	assert_int_equal(links_with(f, "exa"), 6000);
	test_database_run(f->db, "DELETE FROM link_search_trigrams");
	test_database_run(f->db, "UPDATE link_search_count SET counted_at = counted_at - interval '1 hour'");
	janitor_fixture_run_task(f, link_lists_run);
	assert_int_equal(links_with(f, "exa"), 6000);
}

static void counts_no_link_of_those_that_are_gone(void **state)
{
	struct janitor_fixture *f = *state;
	janitor_fixture_add_links(f, "'ACTIVE', clock_timestamp(), clock_timestamp() + interval '1 day'");
	count_visits(f);
	test_database_run(f->db, "DELETE FROM links WHERE id % 2 = 0");
	assert_int_equal(janitor_fixture_run_task(f, link_lists_run), 2500);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM link_ranking"), 1250);
	assert_int_equal(test_database_ask(f->db, "SELECT sum(links)::bigint FROM link_counts WHERE owner_id = -1"),
	                 1250);
}

static void adds_up_what_counts_the_links_of_owners_who_never_ask(void **state)
{
	struct janitor_fixture *f = *state;
	test_database_run(f->db,
	                  "INSERT INTO link_counts (owner_id, links) SELECT 0, 1 FROM generate_series(1, 30000)");
	test_database_run(f->db, "INSERT INTO link_counts (owner_id, links) "
	                         "SELECT owner, 2 FROM generate_series(1, 40) AS owner, generate_series(1, 65)");
	test_database_run(f->db, "INSERT INTO link_counts (owner_id, links) SELECT 99, 3 FROM generate_series(1, 64)");
	/* Each run looks at three quarters of these pages. */
	static const char crowded[] = "SELECT count(*) FROM (SELECT FROM link_counts WHERE owner_id >= 0 "
				      "GROUP BY owner_id HAVING count(*) > 64) AS crowded_ones";
	for (int i = 0; i < 100 && test_database_ask(f->db, crowded) > 0; i++)
		janitor_fixture_run_task(f, link_lists_run);
	assert_int_equal(test_database_ask(f->db, crowded), 0);
	assert_int_equal(test_database_ask(f->db, "SELECT sum(links)::bigint FROM link_counts WHERE owner_id = 0"),
	                 30000);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM (SELECT FROM link_counts WHERE owner_id < 99 "
	                                          "GROUP BY owner_id HAVING sum(links) IN (130, 30000)) AS right_ones"),
	                 41);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM link_counts WHERE owner_id = 99"), 64);
}

/* A sample finds them sooner or later, however many others there are. */
static void finds_the_fullest_among_many_owners(void **state)
{
	struct janitor_fixture *f = *state;
	test_database_run(f->db,
	                  "INSERT INTO link_counts (owner_id, links) "
	                  "SELECT CASE WHEN i % 1000 = 0 THEN 0 ELSE i END, 1 FROM generate_series(1, 200000) AS i");
	static const char rows[] = "SELECT count(*) FROM link_counts WHERE owner_id = 0";
	assert_int_equal(test_database_ask(f->db, rows), 200);
	for (int i = 0; i < 500 && test_database_ask(f->db, rows) > 64; i++)
		janitor_fixture_run_task(f, link_lists_run);
	assert_int_equal(test_database_ask(f->db, rows), 1);
	assert_int_equal(test_database_ask(f->db, "SELECT links FROM link_counts WHERE owner_id = 0"), 200);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM link_counts WHERE owner_id >= 0"), 199801);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, janitor_fixture_set_up, janitor_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(brings_the_order_of_links_up_to_their_statistics),
		TEST(walks_through_all_statistics_when_changes_were_not_noted),
		TEST(sorts_new_links_into_the_index_of_searches),
		TEST(adds_up_what_counts_the_links_of_owners_who_never_ask),
		TEST(finds_the_fullest_among_many_owners),
		TEST(knows_from_a_sample_what_many_links_have),
		TEST(samples_again_when_links_have_doubled_or_after_an_hour),
		TEST(counts_no_link_of_those_that_are_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
