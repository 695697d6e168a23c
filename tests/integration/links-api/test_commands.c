#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/links/link_row.h"
#include "services/links-api/commands/ghosts.h"
#include "services/links-api/commands/republish.h"
#include "tests/integration/links/link_fixture.h"
#include "tests/support/test.h"

/* Adds the events of the next links in a separate transaction. */
static void add_next(struct link_fixture *f, struct republish_cursor *cursor)
{
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(republish_next(f->api, cursor), OK);
	assert_int_equal(pg_conn_commit(f->api), OK);
}

static bool is_waiting(struct link_fixture *f, int64_t outbox_id)
{
	bool is_waiting;
	assert_int_equal(republish_is_waiting(f->api, outbox_id, &is_waiting), OK);
	return is_waiting;
}

TEST_CASE(adds_each_link_once_in_any_state)
{
	struct link_fixture *f = *state;
	struct republish_cursor cursor = { 0 };
	link_fixture_make(f, "again-active");
	link_fixture_make(f, "again-deleted");
	link_fixture_change(f, f->link.entry.id, LINK_STATE_DELETED, LINK_CHANGE_DELETED);
	struct link_write_new foreign = link_fixture_plain("again-foreign");
	foreign.workspace_id = 2;
	assert_int_equal(link_fixture_create(f->api, &foreign, &f->other), OK);
	test_database_run(f->db, "TRUNCATE outbox");

	add_next(f, &cursor);
	assert_int_equal(cursor.count, 3);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox WHERE priority = 1 "
	                                          "AND cached AND NOT published"),
	                 3);
	struct link_event *deleted = link_fixture_recorded(f, 1);
	assert_int_equal(deleted->change, LINK_CHANGE_REPUBLISHED);
	assert_int_equal(deleted->link.entry.id, f->link.entry.id);
	assert_int_equal(deleted->link.entry.version, 2);
	assert_int_equal(deleted->link.entry.state, LINK_STATE_DELETED);
	assert_int_equal(deleted->occurred_at_us, f->link.updated_at_us);
	free(deleted);
	add_next(f, &cursor);
	assert_int_equal(cursor.count, 0);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox"), 3);
	assert_int_equal(test_database_ask(f->db, "SELECT sum(version) FROM links"), 4);
}

TEST_CASE(walks_through_all_links_in_batches)
{
	struct link_fixture *f = *state;
	struct republish_cursor cursor = { 0 };
	test_database_run(
		f->db,
		"INSERT INTO links (slug, link_type, original_url, workspace_id) "
		"SELECT 'many-' || n, 'PERMANENT', 'https://example.com/', 1 FROM generate_series(1, 2100) AS n");
	add_next(f, &cursor);
	assert_int_equal(cursor.count, REPUBLISH_BATCH_MAX);
	add_next(f, &cursor);
	assert_int_equal(cursor.count, REPUBLISH_BATCH_MAX);
	add_next(f, &cursor);
	assert_int_equal(cursor.count, 100);
	assert_int_equal(test_database_ask(f->db, "SELECT count(DISTINCT slug) FROM outbox"), 2100);
}

TEST_CASE(waits_for_its_rows_even_if_a_change_made_one_urgent)
{
	struct link_fixture *f = *state;
	struct republish_cursor cursor = { 0 };
	link_fixture_make(f, "again-changed");
	test_database_run(f->db, "TRUNCATE outbox");
	add_next(f, &cursor);
	assert_true(is_waiting(f, cursor.outbox_id));
	assert_false(is_waiting(f, cursor.outbox_id - 1));

	link_fixture_change(f, f->link.entry.id, LINK_STATE_DISABLED, LINK_CHANGE_DISABLED);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox WHERE priority = 0"),
	                 2);
	struct link_event *first = link_fixture_recorded(f, 0);
	assert_int_equal(first->change, LINK_CHANGE_REPUBLISHED);
	free(first);
	assert_true(is_waiting(f, cursor.outbox_id));
	test_database_run(
		f->db,
		"UPDATE outbox SET published = true WHERE id = (SELECT min(id) FROM outbox)");
	assert_false(is_waiting(f, cursor.outbox_id));
}

TEST_CASE(a_restored_database_publishes_higher_versions)
{
	struct link_fixture *f = *state;
	struct republish_cursor cursor = { 0 };
	link_fixture_make(f, "again-restored");
	test_database_run(f->db, "TRUNCATE outbox");
	test_database_run(f->db, "UPDATE database_epoch SET link_version_base = 1000000");
	add_next(f, &cursor);
	struct link_event *event = link_fixture_recorded(f, 0);
	assert_int_equal(event->link.entry.version, 1000001);
	free(event);
	test_database_run(f->db, "UPDATE database_epoch SET link_version_base = 0");
}

/* A record of the name with this number, as an earlier epoch sent it. */
static enum err see(struct ghosts *ghosts, struct link_fixture *f, int number)
{
	struct link_event event;
	struct strbuf payload;
	link_row_to_event(&f->link, LINK_CHANGE_CREATED, &event);
	snprintf(event.link.entry.slug, sizeof(event.link.entry.slug), "name-%d", number);
	strbuf_init(&payload, LINK_EVENT_BYTES_MAX);
	link_event_encode(&event, &payload);
	const struct kafka_message message = {
		.key = event.link.entry.slug,
		.key_len = strlen(event.link.entry.slug),
		.value = payload.data,
		.value_len = payload.len,
	};
	enum err err = ghosts_see(ghosts, f->api, &message);
	strbuf_clear(&payload);
	return err;
}

/* Returns how often it began anew. */
static int see_all(struct ghosts *ghosts, struct link_fixture *f, int count)
{
	for (int again = 0;; again++) {
		enum err err = OK;
		for (int i = 0; err == OK && i < count; i++)
			err = see(ghosts, f, i);
		if (err == OK)
			err = ghosts_ask(ghosts, f->api);
		if (err == OK)
			return again;
		assert_int_equal(err, ERR_CONFLICT);
	}
}

static size_t end_slice(struct ghosts *ghosts, struct link_fixture *f)
{
	size_t names, ended, sum = 0;
	do {
		assert_int_equal(pg_conn_begin(f->api), OK);
		assert_int_equal(ghosts_end_next(ghosts, f->api, &names, &ended), OK);
		assert_int_equal(pg_conn_commit(f->api), OK);
		sum += ended;
	} while (names > 0);
	return sum;
}

TEST_CASE(ends_more_lost_names_than_memory_holds_at_once)
{
	enum { NAMES = GHOSTS_ASK_MAX + 500, AT_ONCE = 4000 };
	struct link_fixture *f = *state;
	struct ghosts *ghosts = ghosts_new(1000000, AT_ONCE);
	link_fixture_make(f, "name-7");
	test_database_run(f->db, "TRUNCATE outbox");
	int slices = 0, again = 0;
	size_t ended = 0;
	for (; ghosts_has_slice(ghosts); slices++) {
		again += see_all(ghosts, f, NAMES);
		ended += end_slice(ghosts, f);
	}
	ghosts_free(ghosts);
	assert_int_equal(slices, 4);
	assert_int_equal(again, 2);
	assert_int_equal(ended, NAMES - 1);
	assert_int_equal(test_database_ask(f->db, "SELECT count(DISTINCT slug) FROM outbox "
	                                          "WHERE slug <> 'name-7' AND priority = 1"),
	                 NAMES - 1);
}

TEST_MAIN(.group_set_up = link_fixture_set_up, .group_tear_down = link_fixture_tear_down,
          .set_up = link_fixture_empty)
