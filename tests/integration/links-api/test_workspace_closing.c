#include <stdint.h>
#include <stdlib.h>

#include "services/links-api/workspaces/workspace_closing.h"
#include "tests/integration/links/link_fixture.h"
#include "tests/support/test.h"

/* Deletes or restores one batch in a separate transaction. */
static struct workspace_closing_batch change_batch(struct link_fixture *f,
                                                   struct workspace_closing_cursor *cursor)
{
	struct workspace_closing_batch batch;
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(workspace_closing_next(f->api, cursor, &batch), OK);
	assert_int_equal(pg_conn_commit(f->api), OK);
	return batch;
}

TEST_CASE(deletes_remaining_links_as_their_owner_would)
{
	struct link_fixture *f = *state;
	struct workspace_closing_cursor cursor = { .workspace_id = 1 };
	link_fixture_make(f, "closing-active");
	int64_t active = f->link.entry.id;
	link_fixture_make(f, "closing-disabled");
	link_fixture_change(f, f->link.entry.id, LINK_STATE_DISABLED, LINK_CHANGE_DISABLED);
	int64_t disabled = f->link.entry.id;
	link_fixture_make(f, "closing-gone");
	link_fixture_change(f, f->link.entry.id, LINK_STATE_DELETED, LINK_CHANGE_DELETED);
	int64_t gone = f->link.entry.id;
	struct link_write_new foreign = link_fixture_plain("closing-foreign");
	foreign.workspace_id = 2;
	assert_int_equal(link_fixture_create(f->api, &foreign, &f->link), OK);
	test_database_run(f->db, "TRUNCATE outbox");

	struct workspace_closing_batch batch = change_batch(f, &cursor);
	assert_int_equal(batch.count, 2);
	assert_true(cursor.is_over);
	assert_int_equal(link_store_get(f->api, active, 1, &f->other), OK);
	assert_int_equal(f->other.entry.state, LINK_STATE_DELETED);
	assert_int_equal(f->other.state_before_deletion, LINK_STATE_ACTIVE);
	assert_int_equal(f->other.entry.version, 2);
	assert_int_equal(link_store_get(f->api, disabled, 1, &f->other), OK);
	assert_int_equal(f->other.entry.version, 3);
	assert_int_equal(f->other.state_before_deletion, LINK_STATE_DISABLED);
	assert_int_equal(link_store_get(f->api, gone, 1, &f->other), OK);
	assert_int_equal(f->other.entry.version, 2);
	assert_int_equal(link_store_get(f->api, f->link.entry.id, 2, &f->other), OK);
	assert_int_equal(f->other.entry.state, LINK_STATE_ACTIVE);

	struct link_event *event = link_fixture_recorded(f, 1);
	assert_int_equal(event->change, LINK_CHANGE_DELETED);
	assert_string_equal(event->link.entry.slug, batch.last_slug);
	free(event);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox WHERE priority = 0"),
	                 2);
}

TEST_CASE(skips_links_that_are_deleted_already)
{
	struct link_fixture *f = *state;
	struct workspace_closing_cursor cursor = { .workspace_id = 1 };
	/* All have the same creation time, so the order depends on their IDs. */
	test_database_run(
		f->db,
		"INSERT INTO links (slug, link_type, original_url, workspace_id, created_at, state) "
		"SELECT 'many-' || n, 'PERMANENT', 'https://example.com/', 1, '2026-01-01', "
		"CASE WHEN n > 600 THEN 'ACTIVE' ELSE 'DELETED' END FROM generate_series(1, 1100) AS n");
	assert_int_equal(change_batch(f, &cursor).count, 0);
	assert_int_equal(change_batch(f, &cursor).count, 400);
	assert_false(cursor.is_over);
	assert_int_equal(change_batch(f, &cursor).count, 100);
	assert_true(cursor.is_over);
	assert_int_equal(
		test_database_ask(f->db, "SELECT count(*) FROM links WHERE state <> 'DELETED'"), 0);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox"), 500);
}

/* What its members had deleted themselves stays so, and what they have deleted since. */
TEST_CASE(restores_the_links_that_the_deletion_ended_as_they_were)
{
	struct link_fixture *f = *state;
	struct workspace_closing_cursor deletion = { .workspace_id = 1 };
	struct workspace_closing_cursor restoring = { .workspace_id = 1 };
	test_database_run(
		f->db, "INSERT INTO links (slug, link_type, original_url, workspace_id, state, "
		       "state_before_deletion, state_since, expires_at) VALUES "
		       "('was-active', 'PERMANENT', 'https://a.example/', 1, 'ACTIVE', NULL, "
		       "'2026-01-01', NULL), "
		       "('was-disabled', 'PERMANENT', 'https://a.example/', 1, 'DISABLED', NULL, "
		       "'2026-01-01', NULL), "
		       "('was-expired', 'PERMANENT', 'https://a.example/', 1, 'EXPIRED', NULL, "
		       "'2026-01-01', '2026-01-01'), "
		       "('was-deleted', 'PERMANENT', 'https://a.example/', 1, 'DELETED', 'ACTIVE', "
		       "'2026-01-01', NULL)");
	restoring.restores_since_us = test_database_ask(
		f->db, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint");
	assert_int_equal(change_batch(f, &deletion).count, 3);
	restoring.restores_until_us = test_database_ask(
		f->db, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + 1");
	test_database_run(f->db,
	                  "INSERT INTO links (slug, link_type, original_url, workspace_id, state, "
	                  "state_since) VALUES ('later', 'PERMANENT', 'https://a.example/', 1, "
	                  "'DELETED', clock_timestamp() + interval '1 minute')");
	test_database_run(f->db, "TRUNCATE outbox");
	struct workspace_closing_batch batch = change_batch(f, &restoring);
	assert_int_equal(batch.count, 3);
	assert_true(restoring.is_over);
	assert_int_equal(
		test_database_ask(
			f->db,
			"SELECT count(*) FROM links WHERE state_before_deletion IS NULL AND version = 3 "
			"AND state_since > '2026-01-02' AND (slug, state) IN (('was-active', 'ACTIVE'), "
			"('was-disabled', 'DISABLED'), ('was-expired', 'EXPIRED'))"),
		3);
	assert_int_equal(test_database_ask(f->db,
	                                   "SELECT count(*) FROM links WHERE state = 'DELETED' "
	                                   "AND slug IN ('was-deleted', 'later')"),
	                 2);
	struct link_event *event = link_fixture_recorded(f, 1);
	assert_int_equal(event->change, LINK_CHANGE_RESTORED);
	free(event);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox WHERE priority = 0"),
	                 3);
}

/* Otherwise the deletion would overtake it on the topic. */
TEST_CASE(a_waiting_expiry_event_goes_first)
{
	struct link_fixture *f = *state;
	struct workspace_closing_cursor cursor = { .workspace_id = 1 };
	link_fixture_make(f, "closing-marked");
	test_database_run(f->db, "UPDATE outbox SET priority = 1");
	assert_int_equal(change_batch(f, &cursor).count, 1);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox WHERE priority = 0"),
	                 2);
}

TEST_CASE(a_rollback_leaves_no_changes)
{
	struct link_fixture *f = *state;
	struct workspace_closing_cursor cursor = { .workspace_id = 1 };
	struct workspace_closing_batch batch;
	link_fixture_make(f, "closing-undone");
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(workspace_closing_next(f->api, &cursor, &batch), OK);
	pg_conn_rollback(f->api);
	assert_int_equal(
		test_database_ask(f->db, "SELECT count(*) FROM links WHERE state = 'DELETED'"), 0);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox"), 1);
}

TEST_MAIN(.group_set_up = link_fixture_set_up, .group_tear_down = link_fixture_tear_down,
          .set_up = link_fixture_empty)
