#include <stdint.h>
#include <stdio.h>

#include "services/janitor/links/links.h"
#include "tests/integration/janitor/janitor_fixture.h"
#include "tests/support/test.h"

static int64_t count_up_to_date(struct janitor_fixture *f)
{
	return test_database_ask(
		f->db, "SELECT count(*) FROM link_ranking JOIN link_statistics USING (link_id) "
		       "WHERE visits = visit_count AND visited_at = last_visited_at");
}

/* Updates statistics as a batch of clicks does. */
static void count_visits(struct janitor_fixture *f)
{
	test_database_run(
		f->db, "INSERT INTO link_statistics AS old (link_id, visit_count, last_visited_at) "
		       "SELECT id, id, clock_timestamp() FROM links "
		       "ON CONFLICT (link_id) DO UPDATE SET visit_count = old.visit_count + 1, "
		       "last_visited_at = EXCLUDED.last_visited_at");
}

TEST_CASE(copies_visit_counts_into_the_ranking)
{
	struct janitor_fixture *f = *state;
	janitor_fixture_add_links(
		f, "'ACTIVE', clock_timestamp(), clock_timestamp() + interval '1 day'");
	for (int i = 0; i < 3; i++) {
		count_visits(f);
		assert_int_equal(count_up_to_date(f), 0);
		assert_int_equal(janitor_fixture_run_task(f, links_refresh_lists), 2500);
		assert_int_equal(count_up_to_date(f), 2500);
	}
	assert_int_equal(janitor_fixture_run_task(f, links_refresh_lists), 0);
}

TEST_CASE(scans_all_statistics_when_changes_were_not_recorded)
{
	struct janitor_fixture *f = *state;
	janitor_fixture_add_links(
		f, "'ACTIVE', clock_timestamp(), clock_timestamp() + interval '1 day'");
	test_database_run(f->db, "UPDATE link_ranking_sweep SET is_behind = true");
	count_visits(f);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM link_statistics_changes"),
	                 0);
	janitor_fixture_run_task(f, links_refresh_lists);
	assert_int_equal(count_up_to_date(f), 2500);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM link_ranking_sweep "
	                                          "WHERE NOT is_behind AND next_link IS NULL"),
	                 1);
}

TEST_CASE(flushes_the_pending_list_of_the_search_index)
{
	struct janitor_fixture *f = *state;
	static const char pending[] =
		"SELECT (gin_metapage_info(get_raw_page('links_search_idx', 0))).n_pending_tuples";
	test_database_run(f->db, "CREATE EXTENSION pageinspect");
	janitor_fixture_add_links(
		f, "'ACTIVE', clock_timestamp(), clock_timestamp() + interval '1 day'");
	assert_true(test_database_ask(f->db, pending) > 0);
	janitor_fixture_run_task(f, links_refresh_lists);
	assert_int_equal(test_database_ask(f->db, pending), 0);
}

static void add_similar_links(struct janitor_fixture *f)
{
	test_database_run(
		f->db,
		"INSERT INTO links (slug, link_type, expires_at, original_url, title) "
		"SELECT 'x' || i, 'TEMPORARY', clock_timestamp() + interval '1 day', "
		"'https://example.com/', CASE WHEN i % 100 = 0 THEN 'Seldom' ELSE '' END || "
		"CASE WHEN i <= 3 THEN 'Hardly' ELSE '' END FROM generate_series(1, 6000) AS i");
	test_database_run(f->db, "ANALYZE links");
}

static int64_t links_with(struct janitor_fixture *f, const char *trigram)
{
	char sql[128];
	(void)snprintf(
		sql, sizeof(sql),
		"SELECT coalesce(sum(links), 0)::bigint FROM link_search_trigrams WHERE trigram = '%s'",
		trigram);
	return test_database_ask(f->db, sql);
}

TEST_CASE(samples_which_trigrams_are_frequent)
{
	struct janitor_fixture *f = *state;
	janitor_fixture_run_task(f, links_refresh_lists);
	assert_int_equal(test_database_ask(f->db, "SELECT links FROM link_search_count"), 0);
	add_similar_links(f);
	janitor_fixture_run_task(f, links_refresh_lists);
	assert_int_equal(test_database_ask(f->db, "SELECT links FROM link_search_count"), 6000);
	assert_int_equal(links_with(f, "exa"), 6000);
	assert_in_range(links_with(f, "dom"), 30, 90);
	assert_int_equal(links_with(f, "rdl"), 0);
}

TEST_CASE(samples_again_when_links_doubled_or_after_an_hour)
{
	struct janitor_fixture *f = *state;
	add_similar_links(f);
	janitor_fixture_run_task(f, links_refresh_lists);
	test_database_run(f->db, "DELETE FROM link_search_trigrams");
	janitor_fixture_run_task(f, links_refresh_lists);
	assert_int_equal(links_with(f, "exa"), 0);
	test_database_run(f->db, "UPDATE link_search_count SET links = 3000");
	janitor_fixture_run_task(f, links_refresh_lists);
	assert_int_equal(links_with(f, "exa"), 6000);
	test_database_run(f->db, "DELETE FROM link_search_trigrams");
	test_database_run(
		f->db, "UPDATE link_search_count SET counted_at = counted_at - interval '1 hour'");
	janitor_fixture_run_task(f, links_refresh_lists);
	assert_int_equal(links_with(f, "exa"), 6000);
}

TEST_CASE(does_not_count_deleted_links)
{
	struct janitor_fixture *f = *state;
	janitor_fixture_add_links(
		f, "'ACTIVE', clock_timestamp(), clock_timestamp() + interval '1 day'");
	count_visits(f);
	test_database_run(f->db, "DELETE FROM links WHERE id % 2 = 0");
	assert_int_equal(janitor_fixture_run_task(f, links_refresh_lists), 2500);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM link_ranking"), 1250);
	assert_int_equal(
		test_database_ask(
			f->db,
			"SELECT sum(links)::bigint FROM link_counts WHERE workspace_id = -1"),
		1250);
}

TEST_CASE(merges_the_counter_rows_of_owners_that_never_list_their_links)
{
	struct janitor_fixture *f = *state;
	test_database_run(
		f->db,
		"INSERT INTO link_counts (workspace_id, links) SELECT 0, 1 FROM generate_series(1, 30000)");
	test_database_run(
		f->db,
		"INSERT INTO link_counts (workspace_id, links) "
		"SELECT owner, 2 FROM generate_series(1, 40) AS owner, generate_series(1, 65)");
	test_database_run(
		f->db,
		"INSERT INTO link_counts (workspace_id, links) SELECT 99, 3 FROM generate_series(1, 64)");
	/* Each run samples three quarters of these pages. */
	static const char crowded[] =
		"SELECT count(*) FROM (SELECT FROM link_counts WHERE workspace_id >= 0 "
		"GROUP BY workspace_id HAVING count(*) > 64) AS crowded_owners";
	for (int i = 0; i < 100 && test_database_ask(f->db, crowded) > 0; i++)
		janitor_fixture_run_task(f, links_refresh_lists);
	assert_int_equal(test_database_ask(f->db, crowded), 0);
	assert_int_equal(
		test_database_ask(
			f->db, "SELECT sum(links)::bigint FROM link_counts WHERE workspace_id = 0"),
		30000);
	assert_int_equal(
		test_database_ask(
			f->db,
			"SELECT count(*) FROM (SELECT FROM link_counts WHERE workspace_id < 99 "
			"GROUP BY workspace_id HAVING sum(links) IN (130, 30000)) AS exact_owners"),
		41);
	assert_int_equal(test_database_ask(
				 f->db, "SELECT count(*) FROM link_counts WHERE workspace_id = 99"),
	                 64);
}

/* The random sample finds it eventually, however many other owners there are. */
TEST_CASE(finds_the_owner_with_the_most_counter_rows)
{
	struct janitor_fixture *f = *state;
	test_database_run(
		f->db,
		"INSERT INTO link_counts (workspace_id, links) "
		"SELECT CASE WHEN i % 1000 = 0 THEN 0 ELSE i END, 1 FROM generate_series(1, 200000) AS i");
	static const char rows[] = "SELECT count(*) FROM link_counts WHERE workspace_id = 0";
	assert_int_equal(test_database_ask(f->db, rows), 200);
	for (int i = 0; i < 500 && test_database_ask(f->db, rows) > 64; i++)
		janitor_fixture_run_task(f, links_refresh_lists);
	assert_int_equal(test_database_ask(f->db, rows), 1);
	assert_int_equal(
		test_database_ask(f->db, "SELECT links FROM link_counts WHERE workspace_id = 0"),
		200);
	assert_int_equal(test_database_ask(
				 f->db, "SELECT count(*) FROM link_counts WHERE workspace_id >= 0"),
	                 199801);
}

TEST_MAIN(.set_up = janitor_fixture_set_up, .tear_down = janitor_fixture_tear_down)
