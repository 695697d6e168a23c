#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/mem.h"
#include "services/links-api/links/bulk_update_store.h"
#include "tests/integration/links/link_fixture.h"
#include "tests/support/test.h"

/* Two links, disabled in memory only. */
static struct bulk_update_store_change *two_changes(struct link_fixture *f)
{
	static const char *const slugs[] = { "one", "two" };
	struct bulk_update_store_change *changes = mem_array(2, sizeof(*changes));
	for (size_t i = 0; i < 2; i++) {
		link_fixture_make(f, slugs[i]);
		changes[i].link = f->link;
		changes[i].link.entry.state = LINK_STATE_DISABLED;
		changes[i].link.tags.count = 1;
		snprintf(changes[i].link.tags.tag[0], LINK_TAG_SIZE, "a,\"b\" {%zu}", i);
		changes[i].change = i == 0 ? LINK_CHANGE_DISABLED : LINK_CHANGE_UPDATED;
	}
	return changes;
}

static enum err write(struct link_fixture *f, struct bulk_update_store_change *changes,
                      size_t count)
{
	assert_int_equal(pg_conn_begin(f->api), OK);
	enum err err = bulk_update_store_write(f->api, changes, count);
	if (err == OK)
		return pg_conn_commit(f->api);
	pg_conn_rollback(f->api);
	return err;
}

TEST_CASE(writes_each_link_and_records_its_own_change)
{
	struct link_fixture *f = *state;
	struct bulk_update_store_change *changes = two_changes(f);
	test_database_run(f->db, "DELETE FROM outbox");
	assert_int_equal(write(f, changes, 2), OK);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(changes[i].link.entry.version, 2);
		assert_int_equal(link_store_get(f->api, changes[i].link.entry.id, 1, &f->other),
		                 OK);
		assert_int_equal(f->other.entry.version, 2);
		assert_int_equal(f->other.entry.state, LINK_STATE_DISABLED);
		assert_string_equal(f->other.tags.tag[0], changes[i].link.tags.tag[0]);
		struct link_event *event = link_fixture_recorded(f, i);
		assert_int_equal(event->link.entry.version, 2);
		assert_int_equal(event->change, event->link.entry.id == changes[0].link.entry.id
		                                        ? LINK_CHANGE_DISABLED
		                                        : LINK_CHANGE_UPDATED);
		free(event);
	}
	free(changes);
}

TEST_CASE(changes_nothing_if_one_link_is_at_another_version)
{
	struct link_fixture *f = *state;
	struct bulk_update_store_change *changes = two_changes(f);
	test_database_run(f->db, "UPDATE links SET version = 7 WHERE slug = 'two'");
	assert_int_equal(write(f, changes, 2), ERR_CONFLICT);
	assert_int_equal(
		test_database_ask(f->db, "SELECT count(*) FROM links WHERE state = 'ACTIVE'"), 2);
	assert_int_equal(changes[0].link.entry.version, 1);
	assert_int_equal(write(f, changes, BULK_UPDATE_STORE_MAX + 1), ERR_LIMIT);
	assert_int_equal(write(f, changes, 0), OK);
	free(changes);
}

TEST_CASE(keeps_the_state_before_a_deletion_for_a_restore)
{
	struct link_fixture *f = *state;
	struct bulk_update_store_change *changes = two_changes(f);
	assert_int_equal(write(f, changes, 2), OK);
	for (size_t i = 0; i < 2; i++)
		changes[i].link.entry.state = LINK_STATE_DELETED;
	assert_int_equal(write(f, changes, 2), OK);
	assert_int_equal(write(f, changes, 2), OK); /* such as new tags of a deleted link */
	assert_int_equal(link_store_get(f->api, changes[0].link.entry.id, 1, &f->other), OK);
	assert_int_equal(f->other.entry.state, LINK_STATE_DELETED);
	assert_int_equal(f->other.state_before_deletion, LINK_STATE_DISABLED);
	free(changes);
}

/* Otherwise the pending event would be sent after the next version. */
TEST_CASE(sends_a_pending_low_priority_event_before_the_change)
{
	struct link_fixture *f = *state;
	struct bulk_update_store_change *changes = two_changes(f);
	test_database_run(f->db, "UPDATE outbox SET priority = 1");
	assert_int_equal(write(f, changes, 1), OK);
	assert_int_equal(
		test_database_ask(
			f->db, "SELECT count(*) FROM outbox WHERE slug = 'one' AND priority = 0"),
		2);
	assert_int_equal(
		test_database_ask(
			f->db, "SELECT count(*) FROM outbox WHERE slug = 'two' AND priority = 1"),
		1);
	free(changes);
}

TEST_MAIN(.group_set_up = link_fixture_set_up, .group_tear_down = link_fixture_tear_down,
          .set_up = link_fixture_empty)
