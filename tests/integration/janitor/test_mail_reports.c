#include "services/janitor/mail/mail_reports.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/mem.h"
#include "tests/integration/janitor/janitor_fixture.h"
#include "tests/support/test.h"

/* Ann makes three workspaces, Bob is a member of hers. Their ids are also those of their first workspaces. */
#define PEOPLE                                                                                     \
	"INSERT INTO users (email, name, password_hash, locale) VALUES "                           \
	"('ann@mail.example', 'Ann', 'x', 'de'), ('bob@mail.example', 'Bob', 'x', NULL)"

static int set_up(void **state)
{
	int status = janitor_fixture_set_up(state);
	struct janitor_fixture *f = *state;
	snprintf(f->config.dashboard_url, sizeof(f->config.dashboard_url),
	         "https://x.example/app/");
	test_database_run(f->db, PEOPLE);
	return status;
}

static int64_t ask(struct janitor_fixture *f, const char *sql)
{
	return test_database_ask(f->db, sql);
}

static void run(struct janitor_fixture *f, const char *sql)
{
	test_database_run(f->db, sql);
}

/* Of Ann's workspace, made by Bob, with three failed checks. */
static void add_links(struct janitor_fixture *f, int count)
{
	char sql[600];
	snprintf(
		sql, sizeof(sql),
		"INSERT INTO links (slug, link_type, original_url, workspace_id, created_by, destination_status, failed_checks) "
		"SELECT 'slug-' || i, 'PERMANENT', 'https://example.com/' || i, (SELECT min(id) FROM users), "
		"(SELECT max(id) FROM users), i %% 2 * 404, 3 FROM generate_series(1, %d) AS i",
		count);
	run(f, sql);
}

static void note_all(struct janitor_fixture *f)
{
	struct pg_result *rows = NULL;
	assert_int_equal(pg_conn_query(f->conn, "SELECT id FROM links ORDER BY id", NULL, &rows),
	                 OK);
	for (size_t i = 0; i < pg_result_count(rows); i++)
		assert_int_equal(mail_reports_note_dead(f->conn, pg_result_int(rows, i, 0)), OK);
	pg_result_free(rows);
}

static void add_reports(struct janitor_fixture *f)
{
	assert_int_equal(mail_reports_add(&f->run), OK);
}

#define MAILS "SELECT count(*) FROM mail_outbox"
#define TO_BOB " WHERE address = 'bob@mail.example'"

TEST_CASE(tells_the_workspaces_sponsor_of_a_dead_link_whose_maker_has_left)
{
	struct janitor_fixture *f = *state;
	add_links(f, 1);
	note_all(f);
	note_all(f);
	add_reports(f);
	assert_int_equal(ask(f, MAILS), 1);
	assert_int_equal(ask(f, MAILS " WHERE address = 'ann@mail.example' AND locale = 'de' "
	                              "AND kind = 'destination-died' AND data->>'count' = '1'"),
	                 1);
}

TEST_CASE(tells_a_member_of_all_their_dead_links_in_one_mail)
{
	struct janitor_fixture *f = *state;
	run(f, "INSERT INTO members SELECT min(id), max(id), 'editor' FROM users");
	add_links(f, 25);
	run(f, "UPDATE links SET title = 'Spring' WHERE slug = 'slug-1'");
	note_all(f);
	/* These need no mail any more. */
	run(f, "UPDATE links SET failed_checks = 0 WHERE slug = 'slug-25'");
	run(f, "UPDATE links SET state = 'DISABLED' WHERE slug = 'slug-24'");
	add_reports(f);
	assert_int_equal(ask(f, MAILS TO_BOB
	                     " AND locale = '' AND data->>'count' = '23' "
	                     "AND data->>'more' = '3' AND jsonb_array_length(data->'links') = 20"),
	                 1);
	assert_int_equal(
		ask(f, MAILS TO_BOB
	            " AND data->'links'->0 = "
	            "'{\"name\":\"Spring\",\"detail\":\"https://example.com/1\",\"value\":\"404\"}'"),
		1);
	assert_int_equal(
		ask(f, MAILS TO_BOB
	            " AND data->'links'->1 = "
	            "'{\"name\":\"/slug-2\",\"detail\":\"https://example.com/2\",\"value\":null}'"),
		1);
	assert_int_equal(ask(f, "SELECT count(*) FROM dead_links"), 0);
}

TEST_CASE(sends_one_mail_about_dead_links_a_day)
{
	struct janitor_fixture *f = *state;
	add_links(f, 1);
	note_all(f);
	add_reports(f);
	note_all(f);
	add_reports(f);
	assert_int_equal(ask(f, MAILS), 1);
	run(f,
	    "UPDATE users SET dead_links_mailed_at = dead_links_mailed_at - interval '25 hours'");
	add_reports(f);
	assert_int_equal(ask(f, MAILS), 2);
}

TEST_CASE(sends_nothing_about_dead_links_to_who_switched_it_off_or_is_blocked)
{
	struct janitor_fixture *f = *state;
	add_links(f, 1);
	run(f, "UPDATE users SET mail_dead_links = false");
	note_all(f);
	add_reports(f);
	run(f, "UPDATE users SET mail_dead_links = true, blocked = true");
	note_all(f);
	add_reports(f);
	assert_int_equal(ask(f, MAILS) + ask(f, "SELECT count(*) FROM dead_links"), 0);
}

/* --- the monthly report; the clock shows 2024-10-04 --- */

/* Each link was visited i times on a day of September and 100 times on days of August and October. */
static void add_visits(struct janitor_fixture *f)
{
	add_links(f, 12);
	run(f,
	    "INSERT INTO rollup_day (link_id, day, humans, bots, uniques) "
	    "SELECT id, day::date, CASE WHEN day = '2024-09-30' THEN substr(slug, 6)::bigint ELSE 100 END, 5, 1 "
	    "FROM links, (VALUES ('2024-08-31'), ('2024-09-30'), ('2024-10-01')) AS days (day)");
	run(f,
	    "INSERT INTO rollup_workspace_day (workspace_id, day, humans, bots, uniques) "
	    "SELECT workspace_id, day, sum(humans), sum(bots), 1 FROM rollup_day JOIN links ON id = link_id GROUP BY 1, 2");
}

TEST_CASE(reports_the_visits_of_the_month_before_and_its_most_visited_links)
{
	struct janitor_fixture *f = *state;
	add_visits(f);
	run(f, "UPDATE users SET mail_monthly_report = true");
	add_reports(f);
	add_reports(f);
	assert_int_equal(ask(f, MAILS), 1);
	assert_int_equal(
		ask(f, MAILS
	            " WHERE address = 'ann@mail.example' AND kind = 'monthly-report' "
	            "AND workspace_id = (SELECT min(id) FROM users) AND data->>'workspace' = 'Personal' "
	            "AND data->>'month' = '2024-09-01' AND data->>'visits' = '78' AND data->>'before' = '1200' "
	            "AND jsonb_array_length(data->'links') = 10 AND data->>'url' = 'https://x.example/app/'"),
		1);
	assert_int_equal(ask(f, "SELECT (data->'links'->0->>'value')::bigint FROM mail_outbox"),
	                 12);
	assert_int_equal(ask(f, "SELECT (data->'links'->9->>'value')::bigint FROM mail_outbox"), 3);
}

TEST_CASE(reports_the_next_month_from_six_hours_of_its_end_on)
{
	struct janitor_fixture *f = *state;
	add_visits(f);
	run(f, "UPDATE users SET mail_monthly_report = true");
	add_reports(f);
	run(f, "INSERT INTO rollup_workspace_day (workspace_id, day, humans, bots, uniques) "
	       "SELECT min(id), '2024-12-31', 1, 0, 1 FROM users");
	/* 2025-01-01 05:59:59 and 06:00:00: 88 days later. */
	clock_fake_advance(&f->clock,
	                   89 * CLOCK_US_PER_DAY - 6 * CLOCK_US_PER_HOUR - CLOCK_US_PER_S);
	add_reports(f);
	assert_int_equal(ask(f, MAILS), 1);
	clock_fake_advance(&f->clock, CLOCK_US_PER_S);
	add_reports(f);
	assert_int_equal(
		ask(f, MAILS
	            " WHERE data->>'month' = '2024-12-01' AND data->>'visits' = '1' AND data->>'before' = '0'"),
		1);
	assert_int_equal(ask(f, MAILS), 2);
}

TEST_CASE(reports_the_workspaces_of_the_ten_longest_memberships)
{
	struct janitor_fixture *f = *state;
	run(f,
	    "INSERT INTO workspaces (name, sponsor_id) SELECT 'w' || i, (SELECT min(id) FROM users) FROM generate_series(1, 12) AS i");
	run(f, "INSERT INTO members (workspace_id, user_id, role, created_at) "
	       "SELECT w.id, u.id, 'viewer', clock_timestamp() + w.id * interval '1 s' "
	       "FROM workspaces w, users u WHERE w.name LIKE 'w%' AND email LIKE 'bob%'");
	run(f, "UPDATE workspaces SET deleted_at = clock_timestamp() WHERE name = 'w1'");
	run(f,
	    "INSERT INTO rollup_workspace_day (workspace_id, day, humans, bots, uniques) SELECT id, '2024-09-02', 1, 1, 1 FROM workspaces");
	run(f, "UPDATE users SET mail_monthly_report = true WHERE email LIKE 'bob%'");
	add_reports(f);
	assert_int_equal(ask(f, MAILS TO_BOB), 10);
	assert_int_equal(ask(f, MAILS " WHERE data->>'workspace' IN ('w1', 'w11', 'w12')"), 0);
}

TEST_CASE(waits_while_a_hundred_reports_wait)
{
	struct janitor_fixture *f = *state;
	run(f,
	    "INSERT INTO users (email, password_hash, mail_monthly_report) SELECT i || '@mail.example', 'x', true FROM generate_series(1, 150) AS i");
	run(f,
	    "INSERT INTO rollup_workspace_day (workspace_id, day, humans, bots, uniques) SELECT id, '2024-09-02', 1, 1, 1 FROM workspaces");
	add_reports(f);
	assert_int_equal(ask(f, MAILS), 100);
	run(f, "DELETE FROM mail_outbox");
	add_reports(f);
	assert_int_equal(ask(f, MAILS), 50);
}

TEST_MAIN(.set_up = set_up, .tear_down = janitor_fixture_tear_down)
