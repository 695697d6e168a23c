/*
 * The end of a link: expiry, purge, and a slug that is never reused.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/links/link_store.h"
#include "tests/integration/links/link_fixture.h"
#include "tests/support/test.h"

/* Sets the expiry time of a link, in seconds from now (of the database). */
static void set_expiry(struct link_fixture *f, const char *slug, const char *seconds)
{
	char sql[256];
	snprintf(
		sql, sizeof(sql),
		"UPDATE links SET expires_at = clock_timestamp() + %s * interval '1 s' WHERE slug = '%s'",
		seconds, slug);
	test_database_run(f->db, sql);
}

static int64_t expire(struct link_fixture *f, int64_t limit)
{
	struct link_store_batch batch = { .limit = limit };
	assert_int_equal(pg_conn_begin(f->janitor), OK);
	assert_int_equal(link_store_expire_batch(f->janitor, &batch), OK);
	assert_int_equal(pg_conn_commit(f->janitor), OK);
	return batch.changed;
}

static int64_t purge(struct link_fixture *f, int64_t expired_s, int64_t deleted_s)
{
	/* The links of the tests are of a workspace. */
	const struct link_store_keep keep = { INT64_C(86400), expired_s, deleted_s };
	const enum link_store_ended ended[] = { LINK_STORE_ENDED_TEMPORARY,
		                                LINK_STORE_ENDED_EXPIRED,
		                                LINK_STORE_ENDED_DELETED };
	int64_t changed = 0;
	assert_int_equal(pg_conn_begin(f->janitor), OK);
	for (size_t i = 0; i < ARRAY_SIZE(ended); i++) {
		struct link_store_batch batch = { .limit = 1000 };
		assert_int_equal(link_store_purge_batch(f->janitor, ended[i], &keep, &batch), OK);
		changed += batch.changed;
	}
	assert_int_equal(pg_conn_commit(f->janitor), OK);
	return changed;
}

TEST_CASE(expires_only_due_links)
{
	struct link_fixture *f = *state;
	const char *const slugs[] = { "due", "later", "never", "disabled-and-due" };
	for (size_t i = 0; i < 4; i++)
		link_fixture_make(f, slugs[i]);
	link_fixture_change(f, f->link.entry.id, LINK_STATE_DISABLED, LINK_CHANGE_DISABLED);
	set_expiry(f, "due", "-1");
	set_expiry(f, "later", "60");
	set_expiry(f, "disabled-and-due", "-1");
	test_database_run(f->db, "TRUNCATE outbox");

	assert_int_equal(expire(f, 1000), 1);
	assert_int_equal(
		test_database_ask(
			f->db,
			"SELECT count(*) FROM links WHERE state = 'EXPIRED' AND slug = 'due' "
			"AND version = 2 AND state_since > created_at"),
		1);
	struct link_event *event = link_fixture_recorded(f, 0);
	assert_int_equal(event->change, LINK_CHANGE_EXPIRED);
	assert_int_equal(event->link.entry.state, LINK_STATE_EXPIRED);
	assert_int_equal(event->link.entry.version, 2);
	free(event);
	assert_int_equal(expire(f, 1000), 0);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox"), 1);
}

TEST_CASE(expires_the_oldest_first_up_to_the_limit)
{
	struct link_fixture *f = *state;
	link_fixture_make(f, "older");
	link_fixture_make(f, "old");
	set_expiry(f, "older", "-100");
	set_expiry(f, "old", "-10");
	assert_int_equal(expire(f, 1), 1);
	assert_int_equal(
		test_database_ask(
			f->db,
			"SELECT count(*) FROM links WHERE state = 'EXPIRED' AND slug = 'older'"),
		1);
	assert_int_equal(expire(f, 1), 1);
	assert_int_equal(expire(f, 1), 0);
}

static int64_t start_of_next_batch(struct link_fixture *f, int64_t from_us)
{
	struct link_store_batch batch = { .limit = 2, .from_us = from_us };
	assert_int_equal(pg_conn_begin(f->janitor), OK);
	assert_int_equal(link_store_expire_batch(f->janitor, &batch), OK);
	assert_int_equal(pg_conn_commit(f->janitor), OK);
	assert_int_equal(batch.changed, 2);
	return batch.from_us;
}

/* Otherwise each batch would scan the dead entries of all previous ones. */
TEST_CASE(a_batch_begins_where_the_last_one_ended)
{
	struct link_fixture *f = *state;
	const char *const slugs[] = { "a", "b", "c", "d" };
	const char *const ends[] = { "-4", "-3", "-2", "-1" };
	for (size_t i = 0; i < 4; i++) {
		link_fixture_make(f, slugs[i]);
		set_expiry(f, slugs[i], ends[i]);
	}
	int64_t from_us = start_of_next_batch(f, 0);
	assert_int_equal(test_database_ask(
				 f->db, "SELECT (extract(epoch FROM expires_at) * 1000000)::bigint "
					"FROM links WHERE slug = 'b'"),
	                 from_us);
	link_fixture_make(f, "late");
	set_expiry(f, "late", "-100");
	assert_true(start_of_next_batch(f, from_us) > from_us);
	assert_int_equal(expire(f, 1000), 1);
}

TEST_CASE(skips_rows_that_others_have_locked)
{
	struct link_fixture *f = *state;
	link_fixture_make(f, "held");
	set_expiry(f, "held", "-1");
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(link_store_lock(f->api, f->link.entry.id, 1, &f->link), OK);
	assert_int_equal(expire(f, 1000), 0);
	assert_int_equal(pg_conn_commit(f->api), OK);
	assert_int_equal(expire(f, 1000), 1);
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(link_store_lock(f->api, f->link.entry.id, 1, &f->link), OK);
	assert_int_equal(purge(f, 0, 0), 0);
	assert_int_equal(pg_conn_commit(f->api), OK);
	assert_int_equal(purge(f, 0, 0), 1);
}

TEST_CASE(purges_only_after_a_grace_period_since_the_state_change)
{
	struct link_fixture *f = *state;
	link_fixture_make(f, "expired");
	link_fixture_make(f, "deleted");
	link_fixture_change(f, f->link.entry.id, LINK_STATE_DELETED, LINK_CHANGE_DELETED);
	/* Expired a day ago, but marked only now. */
	set_expiry(f, "expired", "-86400");
	assert_int_equal(purge(f, 0, 60), 0);
	assert_int_equal(expire(f, 1000), 1);
	assert_int_equal(purge(f, 900, 60), 0);
	test_database_run(f->db, "UPDATE links SET state_since = state_since - interval '61 s'");
	assert_int_equal(purge(f, 900, 60), 1);
	assert_int_equal(
		test_database_ask(f->db, "SELECT count(*) FROM links WHERE slug = 'expired'"), 1);
	test_database_run(f->db, "UPDATE links SET state_since = state_since - interval '900 s'");
	assert_int_equal(purge(f, 900, 60), 1);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links"), 0);
}

TEST_CASE(keeps_links_of_a_workspace_and_temporary_ones_for_different_times)
{
	struct link_fixture *f = *state;
	test_database_run(
		f->db,
		"INSERT INTO links (slug, link_type, original_url, state, expires_at, workspace_id, "
		"state_since) SELECT slug, CASE WHEN owner = 0 THEN 'TEMPORARY' ELSE 'PERMANENT' END, "
		"'https://example.com/', 'EXPIRED', clock_timestamp(), nullif(owner, 0), "
		"clock_timestamp() - age::interval FROM (VALUES ('old', 0, '2 days'), "
		"('new', 0, '1 h'), ('owned', 1, '2 days')) AS made (slug, owner, age)");
	assert_int_equal(purge(f, INT64_C(3) * 86400, 0), 1);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links WHERE slug = 'old'"),
	                 0);
	assert_int_equal(purge(f, 0, 0), 1);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links WHERE slug = 'new'"),
	                 1);
}

/* However short the grace period of links is. */
TEST_CASE(purges_no_link_of_a_workspace_whose_deletion_can_be_undone)
{
	struct link_fixture *f = *state;
	link_fixture_make(f, "undoable");
	link_fixture_change(f, f->link.entry.id, LINK_STATE_DELETED, LINK_CHANGE_DELETED);
	test_database_run(f->db, "UPDATE links SET state_since = state_since - interval '1 day'");
	test_database_run(f->db, "UPDATE workspaces SET deleted_at = clock_timestamp(), "
	                         "closing = 'deleted' WHERE id = 1");
	assert_int_equal(purge(f, 0, 60), 0);
	test_database_run(f->db, "UPDATE workspaces SET closing = NULL WHERE id = 1");
	assert_int_equal(purge(f, 0, 60), 1);
	test_database_run(f->db, "UPDATE workspaces SET deleted_at = NULL WHERE id = 1");
}

TEST_CASE(restoring_a_link_restarts_the_grace_period)
{
	struct link_fixture *f = *state;
	link_fixture_make(f, "restored");
	int64_t id = f->link.entry.id;
	link_fixture_change(f, id, LINK_STATE_DELETED, LINK_CHANGE_DELETED);
	test_database_run(f->db, "UPDATE links SET state_since = state_since - interval '1 h'");
	link_fixture_change(f, id, LINK_STATE_ACTIVE, LINK_CHANGE_RESTORED);
	assert_int_equal(purge(f, 0, 0), 0);
	link_fixture_change(f, id, LINK_STATE_DELETED, LINK_CHANGE_DELETED);
	assert_int_equal(purge(f, 60, 60), 0);
	/* A change that keeps the state does not restart it. */
	test_database_run(f->db, "UPDATE links SET state_since = state_since - interval '1 h'");
	link_fixture_change(f, id, LINK_STATE_DELETED, LINK_CHANGE_UPDATED);
	assert_int_equal(purge(f, 60, 60), 1);
}

TEST_CASE(remembers_the_state_before_deletion)
{
	struct link_fixture *f = *state;
	link_fixture_make(f, "undone");
	int64_t id = f->link.entry.id;
	link_fixture_change(f, id, LINK_STATE_DISABLED, LINK_CHANGE_DISABLED);
	assert_int_equal(f->link.state_before_deletion, 0);
	link_fixture_change(f, id, LINK_STATE_DELETED, LINK_CHANGE_DELETED);
	assert_int_equal(f->link.state_before_deletion, LINK_STATE_DISABLED);
	link_fixture_change(f, id, LINK_STATE_DELETED, LINK_CHANGE_UPDATED);
	assert_int_equal(f->link.state_before_deletion, LINK_STATE_DISABLED);
	link_fixture_change(f, id, LINK_STATE_DISABLED, LINK_CHANGE_RESTORED);
	assert_int_equal(f->link.state_before_deletion, 0);
	assert_int_equal(
		test_database_ask(f->db,
	                          "SELECT count(*) FROM links WHERE state_before_deletion IS NULL"),
		1);
}

TEST_CASE(a_purge_leaves_a_tombstone_and_an_event)
{
	struct link_fixture *f = *state;
	link_fixture_make(f, "purged");
	int64_t id = f->link.entry.id;
	set_expiry(f, "purged", "-1");
	assert_int_equal(expire(f, 1000), 1);
	assert_int_equal(purge(f, 0, 0), 1);
	assert_int_equal(test_database_ask(
				 f->db, "SELECT link_id FROM link_tombstones WHERE slug = 'purged' "
					"AND last_state = 'EXPIRED' AND version = 3"),
	                 id);
	struct link_event *event = link_fixture_recorded(f, 2);
	assert_int_equal(event->change, LINK_CHANGE_PURGED);
	assert_int_equal(event->link.entry.id, id);
	assert_int_equal(event->link.entry.version, 3);
	assert_int_equal(event->link.entry.state, LINK_STATE_DELETED);
	free(event);
	struct link_write_new again = link_fixture_plain("purged");
	assert_int_equal(link_fixture_create(f->api, &again, &f->link), ERR_CONFLICT);
	struct link_entry entry;
	assert_int_equal(link_store_find_entry(f->api, "purged", &entry), ERR_NOT_FOUND);
}

/* Nobody needs them any more. */
TEST_CASE(a_purged_link_has_no_extras)
{
	struct link_fixture *f = *state;
	link_fixture_make(f, "bare");
	test_database_run(f->db, "UPDATE links SET extras = '\\x2001', features = 16");
	set_expiry(f, "bare", "-1");
	assert_int_equal(expire(f, 1000), 1);
	struct link_event *event = link_fixture_recorded(f, 1);
	assert_true(event->link.entry.lacks_extras);
	free(event);
	assert_int_equal(purge(f, 0, 0), 1);
	event = link_fixture_recorded(f, 2);
	assert_false(event->link.entry.lacks_extras);
	free(event);
	assert_int_equal(
		test_database_ask(f->db, "SELECT count(*) FROM outbox WHERE extras IS NOT NULL"),
		1);
}

struct attempt {
	struct pg_conn *conn;
	enum err result;
	struct link link;
};

static void *create_in_thread(void *arg)
{
	struct attempt *attempt = arg;
	struct link_write_new new_link = link_fixture_plain("raced");
	attempt->result = pg_conn_begin(attempt->conn);
	if (attempt->result == OK)
		attempt->result = link_fixture_add(attempt->conn, &new_link, &attempt->link);
	if (attempt->result == OK)
		attempt->result = pg_conn_commit(attempt->conn);
	else
		pg_conn_rollback(attempt->conn);
	return NULL;
}

TEST_CASE(refuses_a_slug_whose_purge_is_uncommitted)
{
	struct link_fixture *f = *state;
	link_fixture_make(f, "raced");
	link_fixture_change(f, f->link.entry.id, LINK_STATE_DELETED, LINK_CHANGE_DELETED);
	struct link_store_batch batch = { .limit = 10 };
	assert_int_equal(pg_conn_begin(f->janitor), OK);
	assert_int_equal(link_store_purge_batch(f->janitor, LINK_STORE_ENDED_DELETED,
	                                        &(struct link_store_keep){ 0 }, &batch),
	                 OK);
	assert_int_equal(batch.changed, 1);

	struct attempt *attempt = mem_zero(sizeof(*attempt));
	attempt->conn = f->api;
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, create_in_thread, attempt), 0);
	test_database_await(
		f->db,
		"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
		"AND wait_event_type = 'Lock'",
		1, 10000);
	assert_int_equal(pg_conn_commit(f->janitor), OK);
	pthread_join(thread, NULL);
	assert_int_equal(attempt->result, ERR_CONFLICT);
	free(attempt);
}

TEST_MAIN(.group_set_up = link_fixture_set_up, .group_tear_down = link_fixture_tear_down,
          .set_up = link_fixture_empty)
