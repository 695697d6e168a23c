#include <stdint.h>
#include <stdio.h>

#include "services/janitor/retention/days.h"
#include "tests/integration/janitor/janitor_fixture.h"
#include "tests/support/clock_fake.h"
#include "tests/support/test.h"

#define KEEP_DAYS 400

/* Adds 100 visits; days counts from 2024-10-04. */
static void add_visits(struct janitor_fixture *f, int days)
{
	char sql[512];
	snprintf(
		sql, sizeof(sql),
		"INSERT INTO visit_log (day, event_id, occurred_at, link_id, slug, status, latency_us, is_bot) "
		"SELECT DATE '2024-10-04' + %d, gen_random_uuid(), clock_timestamp(), 1, 'a', 302, 1, false "
		"FROM generate_series(1, 100)",
		days);
	test_database_run(f->db, sql);
}

/* The day has a partition, as all days have that a janitor saw coming. */
static void add_day(struct janitor_fixture *f, int days)
{
	char sql[100];
	snprintf(sql, sizeof(sql), "SELECT visit_log_make_partition(DATE '2024-10-04' + %d)", days);
	test_database_run(f->db, sql);
	add_visits(f, days);
}

static const char count_visits[] = "SELECT count(*) FROM visit_log";

TEST_CASE(drops_whole_days_older_than_the_retention)
{
	struct janitor_fixture *f = *state;
	add_day(f, -KEEP_DAYS);
	add_day(f, -KEEP_DAYS + 1);
	add_day(f, -30);
	add_day(f, 0);
	assert_int_equal(janitor_fixture_run_task(f, days_delete_old), 0);
	clock_fake_advance(&f->clock, CLOCK_US_PER_DAY);
	assert_int_equal(janitor_fixture_run_task(f, days_delete_old), 1);
	assert_int_equal(test_database_ask(f->db, count_visits), 300);
	clock_fake_advance(&f->clock, KEEP_DAYS * CLOCK_US_PER_DAY);
	assert_int_equal(janitor_fixture_run_task(f, days_delete_old), 3);
	assert_int_equal(test_database_ask(f->db, count_visits), 0);
	assert_int_equal(test_database_ask(f->db, janitor_fixture_count_partitions), 0);
}

TEST_CASE(keeps_the_statistics_of_dropped_days)
{
	struct janitor_fixture *f = *state;
	add_day(f, -KEEP_DAYS);
	test_database_run(f->db,
	                  "INSERT INTO links (slug, link_type, original_url, expires_at) "
	                  "VALUES ('a', 'TEMPORARY', 'https://example.com/', clock_timestamp())");
	test_database_run(f->db, "INSERT INTO rollup_hour (link_id, hour, humans, bots, uniques) "
	                         "SELECT id, '2023-08-31T08:00:00Z', 100, 0, 0 FROM links");
	test_database_run(f->db, "INSERT INTO rollup_day (link_id, day, humans, bots, uniques) "
	                         "SELECT id, '2023-08-31', 100, 0, 0 FROM links");
	test_database_run(
		f->db,
		"INSERT INTO link_statistics (link_id, visit_count) SELECT id, 100 FROM links");
	clock_fake_advance(&f->clock, 10 * CLOCK_US_PER_DAY);
	assert_int_equal(janitor_fixture_run_task(f, days_delete_old), 1);
	assert_int_equal(test_database_ask(f->db, "SELECT humans FROM rollup_hour"), 100);
	assert_int_equal(test_database_ask(f->db, "SELECT humans FROM rollup_day"), 100);
	assert_int_equal(test_database_ask(f->db, "SELECT visit_count FROM link_statistics"), 100);
}

TEST_CASE(deletes_clicks_older_than_the_retention)
{
	struct janitor_fixture *f = *state;
	for (int i = 1; i <= 12; i++)
		add_visits(f, -KEEP_DAYS - i);
	add_visits(f, -KEEP_DAYS);
	assert_int_equal(janitor_fixture_run_task(f, days_make_partitions),
	                 1200 + 1 + DAYS_OF_PARTITIONS_AHEAD);
	assert_int_equal(test_database_ask(f->db, count_visits), 100);
}

TEST_CASE(deletes_old_audit_log_entries)
{
	struct janitor_fixture *f = *state;
	f->config.audit_log_keep_days = 30;
	test_database_run(
		f->db,
		"INSERT INTO audit_log (at, action, subject_type, subject_id) "
		"SELECT TIMESTAMPTZ '2024-10-04T12:00:00Z' - n * interval '1 hour', 'link.update', 'link', n "
		"FROM generate_series(2400, 1, -1) AS n");
	assert_int_equal(janitor_fixture_run_task(f, days_delete_old), 2400 - 30 * 24);
	assert_int_equal(test_database_ask(f->db, "SELECT max(subject_id) FROM audit_log"),
	                 30 * 24);
	assert_int_equal(janitor_fixture_run_task(f, days_delete_old), 0);
	f->config.audit_log_keep_days = ENV_UNLIMITED;
	clock_fake_advance(&f->clock, 1000 * CLOCK_US_PER_DAY);
	assert_int_equal(janitor_fixture_run_task(f, days_delete_old), 0);
}

TEST_CASE(keeps_the_newest_audit_log_entries_up_to_the_limit)
{
	struct janitor_fixture *f = *state;
	struct metrics *metrics = metrics_new();
	f->run.audit_log_dropped = metrics_counter(metrics, "dropped", "Of this test.", NULL);
	f->config.audit_log_entries_max = 500;
	test_database_run(f->db,
	                  "INSERT INTO audit_log (at, action, subject_type, subject_id) "
	                  "SELECT TIMESTAMPTZ '2024-10-04T12:00:00Z', 'link.update', 'link', n "
	                  "FROM generate_series(1, 3000) AS n");
	assert_int_equal(janitor_fixture_run_task(f, days_delete_old), 2500);
	assert_int_equal(test_database_ask(f->db, "SELECT min(subject_id) FROM audit_log"), 2501);
	assert_int_equal(metrics_value(f->run.audit_log_dropped), 2500);
	assert_int_equal(janitor_fixture_run_task(f, days_delete_old), 0);
	metrics_free(metrics);
}

/* The first complete day of the log, from 2023-08-31; -1: nothing was ever dropped. */
static int64_t first_complete_day(struct janitor_fixture *f)
{
	return test_database_ask(
		f->db, "SELECT coalesce(since - DATE '2023-08-31', -1) FROM visit_log_reach");
}

TEST_CASE(stores_the_first_complete_day_of_the_log)
{
	struct janitor_fixture *f = *state;
	add_day(f, -KEEP_DAYS);
	add_day(f, -KEEP_DAYS + 2);
	janitor_fixture_run_task(f, days_make_partitions);
	assert_int_equal(first_complete_day(f), -1);
	clock_fake_advance(&f->clock, CLOCK_US_PER_DAY);
	assert_int_equal(janitor_fixture_run_task(f, days_delete_old), 1);
	assert_int_equal(first_complete_day(f), 1);
	/*
	 * Deleting clicks that came too late also moves the first complete day, up to the first
	 * kept day.
	 */
	clock_fake_advance(&f->clock, CLOCK_US_PER_DAY);
	add_visits(f, -KEEP_DAYS + 1);
	janitor_fixture_run_task(f, days_make_partitions);
	assert_int_equal(first_complete_day(f), 2);
	clock_fake_advance(&f->clock, CLOCK_US_PER_DAY);
	assert_int_equal(janitor_fixture_run_task(f, days_delete_old), 1);
	assert_int_equal(first_complete_day(f), 3);
}

TEST_CASE(gives_up_on_a_drop_rather_than_block_ingestion)
{
	struct janitor_fixture *f = *state;
	struct pg_conn *reader = test_database_connect(f->db, "waymark_links_api");
	int64_t changed = 0;
	janitor_fixture_run_task(f, days_make_partitions);
	clock_fake_advance(&f->clock, (KEEP_DAYS + 1) * CLOCK_US_PER_DAY);
	assert_int_equal(pg_conn_begin(reader), OK);
	assert_int_equal(pg_conn_query(reader, count_visits, NULL, NULL), OK);
	pg_conn_set_log(f->conn, NULL);
	int64_t began_us = clock_steady_us(clock_system());
	assert_int_equal(days_delete_old(&f->run, &changed), ERR_LIMIT);
	test_speed_at_most(clock_steady_us(clock_system()) - began_us, 5 * CLOCK_US_PER_S, "us");
	assert_int_equal(changed, 0);
	assert_int_equal(pg_conn_commit(reader), OK);
	pg_conn_close(reader);
	assert_int_equal(janitor_fixture_run_task(f, days_delete_old), 1);
}

TEST_CASE(does_not_touch_a_partition_that_an_operator_detached)
{
	struct janitor_fixture *f = *state;
	janitor_fixture_run_task(f, days_make_partitions);
	test_database_run(f->db, "ALTER TABLE visit_log DETACH PARTITION visit_log_20241004");
	clock_fake_advance(&f->clock, CLOCK_US_PER_DAY);
	assert_int_equal(janitor_fixture_run_task(f, days_make_partitions), 1);
	clock_fake_advance(&f->clock, KEEP_DAYS * CLOCK_US_PER_DAY);
	janitor_fixture_run_task(f, days_delete_old);
	assert_int_equal(
		test_database_ask(f->db, "SELECT count(to_regclass('visit_log_20241004'))"), 1);
}

static void assert_refused(struct janitor_fixture *f,
                           enum err (*task)(struct run *run, int64_t *changed))
{
	int64_t changed = 0;
	assert_int_equal(task(&f->run, &changed), ERR_INVALID);
	assert_int_equal(changed, 0);
}

TEST_CASE(changes_nothing_when_its_clock_is_far_off)
{
	struct janitor_fixture *f = *state;
	janitor_fixture_run_task(f, days_make_salts);
	janitor_fixture_run_task(f, days_make_partitions);
	clock_fake_advance(&f->clock, 1000 * CLOCK_US_PER_DAY);
	f->config.clock_skew_max_s = 21600;
	assert_refused(f, days_delete_old);
	assert_refused(f, days_make_partitions);
	assert_refused(f, days_make_salts);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM visitor_salts"), 3);
	assert_int_equal(test_database_ask(f->db, janitor_fixture_count_partitions),
	                 1 + DAYS_OF_PARTITIONS_AHEAD);
	/* Five hours of skew are within the limit. */
	clock_fake_init(&f->clock, clock_now_us(clock_system()) - 5 * CLOCK_US_PER_HOUR);
	janitor_fixture_run_task(f, days_make_salts);
	janitor_fixture_run_task(f, days_make_partitions);
}

TEST_CASE(deletes_orphan_statistics_and_no_others)
{
	struct janitor_fixture *f = *state;
	janitor_fixture_add_links(
		f, "'ACTIVE', clock_timestamp(), clock_timestamp() + interval '1 day'");
	test_database_run(
		f->db,
		"INSERT INTO link_statistics (link_id, visit_count) SELECT id, 1 FROM links");
	test_database_run(f->db, "INSERT INTO rollup_hour (link_id, hour, humans, bots, uniques) "
	                         "SELECT id, clock_timestamp() + i * interval '1 hour', 1, 0, 0 "
	                         "FROM links, generate_series(1, 4) AS i");
	test_database_run(f->db, "INSERT INTO rollup_day (link_id, day, humans, bots, uniques) "
	                         "SELECT id, current_date, 1, 0, 0 FROM links");
	/* The platform's row, and a purged link with many roll-ups. */
	test_database_run(f->db,
	                  "INSERT INTO link_statistics (link_id, visit_count) VALUES (0, 2500)");
	test_database_run(
		f->db, "INSERT INTO rollup_delta (link_id, hour, entries, humans, bots, uniques) "
		       "SELECT min(id), clock_timestamp(), 0, 1, 0, 0 "
		       "FROM links, generate_series(1, 2000) AS i GROUP BY i");
	test_database_run(f->db, "DELETE FROM links WHERE id % 5 = 1");
	int64_t gone = 500 + 500 * (4 + 1) + 2000;
	assert_int_equal(janitor_fixture_run_task(f, days_delete_old), gone);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM link_statistics"), 2001);
	assert_int_equal(
		test_database_ask(
			f->db, "SELECT count(*) FROM link_statistics JOIN links ON id = link_id"),
		2000);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM rollup_hour"), 8000);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM rollup_delta"), 0);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM rollup_day"), 2000);
	assert_int_equal(
		test_database_ask(f->db,
	                          "SELECT visit_count FROM link_statistics WHERE link_id = 0"),
		2500);
	assert_int_equal(janitor_fixture_run_task(f, days_delete_old), 0);
}

TEST_CASE(deletes_orphan_statistics_that_a_late_click_created_again)
{
	struct janitor_fixture *f = *state;
	for (int night = 0; night < 2; night++) {
		test_database_run(
			f->db,
			"INSERT INTO rollup_delta (link_id, hour, entries, humans, bots, uniques) "
			"VALUES (77, clock_timestamp(), 0, 1, 0, 0)");
		test_database_run(
			f->db, "INSERT INTO link_statistics (link_id, visit_count) VALUES (77, 1)");
		assert_int_equal(janitor_fixture_run_task(f, days_delete_old), 2);
		assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM rollup_delta"), 0);
	}
}

TEST_CASE(deletes_keys_uses_and_sessions_older_than_a_day)
{
	struct janitor_fixture *f = *state;
	test_database_run(
		f->db,
		"INSERT INTO idempotency_keys (key_hash, request_hash, slugs, status, location, etag, body, created_at) "
		"SELECT sha256(i::text::bytea), sha256(''), '{}', 201, '', '', '{}', "
		"clock_timestamp() - CASE WHEN i <= 1500 THEN interval '24 h' ELSE interval '23 h' END "
		"FROM generate_series(1, 2000) AS i");
	test_database_run(
		f->db,
		"INSERT INTO link_quota_uses VALUES (1, clock_timestamp() - interval '26 h', 3), "
		"(1, clock_timestamp() - interval '24 h 4 min', 2), (1, clock_timestamp(), 1)");
	test_database_run(
		f->db,
		"WITH owner AS (INSERT INTO users (email, password_hash) VALUES ('a@b', '') RETURNING id) "
		"INSERT INTO sessions (user_id, secret_hash, last_used_at) "
		"SELECT id, sha256(hours::text::bytea), clock_timestamp() - hours * interval '1 h' "
		"FROM owner, generate_series(22, 26) AS hours");
	test_database_run(f->db,
	                  "INSERT INTO password_resets SELECT id, i = 1, sha256(i::text::bytea), "
	                  "clock_timestamp() + (i - 1.5) * interval '1 h' "
	                  "FROM users, generate_series(1, 2) AS i WHERE email = 'a@b'");
	test_database_run(f->db,
	                  "INSERT INTO email_confirmations SELECT id, 'c@d', sha256('c'), "
	                  "clock_timestamp() - interval '1 s' FROM users WHERE email = 'a@b'");
	test_database_run(
		f->db, "INSERT INTO invitations (email, token_hash, invited_by, expires_at) "
		       "SELECT d || '@b', sha256(d::text::bytea), id, now() - d * interval '1 day' "
		       "FROM users, generate_series(29, 31, 2) AS d WHERE email = 'a@b'");
	test_database_run(
		f->db,
		"INSERT INTO abuse_reports (link_id, slug, reason, created_at, closed_at) VALUES "
		"(1, 'a', 'spam', now() - interval '900 days', now() - interval '401 days'), "
		"(1, 'a', 'spam', now() - interval '900 days', now() - interval '399 days'), "
		"(1, 'a', 'spam', now() - interval '900 days', NULL)");
	assert_int_equal(janitor_fixture_run_task(f, days_delete_old), 1508);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM invitations"), 1);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM abuse_reports"), 2);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM password_resets"), 1);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM sessions"), 2);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM idempotency_keys"), 500);
	assert_int_equal(test_database_ask(f->db, "SELECT sum(links) FROM link_quota_uses"), 3);
}

TEST_CASE(deletes_colors_of_tags_that_no_link_has)
{
	struct janitor_fixture *f = *state;
	test_database_run(
		f->db,
		"WITH owner AS (INSERT INTO users (email, password_hash) "
		"VALUES ('a@b', ''), ('c@d', '') RETURNING id), "
		"link AS (INSERT INTO links (slug, link_type, original_url, workspace_id, tags, state) "
		"SELECT concat('s', owner.id, state), 'PERMANENT', 'https://example.com/', owner.id, "
		"ARRAY['mail', state], state FROM owner, unnest(ARRAY['ACTIVE', 'DELETED']) AS state "
		"WHERE owner.id = (SELECT min(id) FROM owner)) "
		"INSERT INTO tag_colors SELECT id, tag, '#123456' "
		"FROM owner, unnest(ARRAY['mail', 'DELETED', 'unused']) AS tag");
	assert_int_equal(janitor_fixture_run_task(f, days_delete_old), 4);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM tag_colors "
	                                          "WHERE tag <> 'unused' AND workspace_id = "
	                                          "(SELECT min(id) FROM users)"),
	                 2);
}

TEST_MAIN(.set_up = janitor_fixture_set_up, .tear_down = janitor_fixture_tear_down)
