#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/mem.h"
#include "services/links-api/links/link_write.h"
#include "tests/integration/links/link_fixture.h"
#include "tests/support/test.h"

#define MANY LINK_WRITE_MAX

/* Input and output of one bulk. */
struct bulk {
	struct link_write_new news[MANY + 1];
	char slugs[MANY + 1][SLUG_SIZE];
	struct link links[MANY + 1];
	bool is_made[MANY + 1];
};

static struct bulk *bulk_of(const char *const *slugs, size_t count)
{
	struct bulk *b = mem_zero(sizeof(*b));
	for (size_t i = 0; i < count; i++)
		b->news[i] = link_fixture_plain(slugs[i]);
	return b;
}

static struct bulk *bulk_of_many(size_t count)
{
	struct bulk *b = mem_zero(sizeof(*b));
	for (size_t i = 0; i < count; i++) {
		snprintf(b->slugs[i], SLUG_SIZE, "many-%zu", count - i);
		b->news[i] = link_fixture_plain(b->slugs[i]);
	}
	return b;
}

static enum err create(struct pg_conn *conn, struct bulk *b, size_t count)
{
	assert_int_equal(pg_conn_begin(conn), OK);
	struct link *links[MANY + 1];
	for (size_t i = 0; i < MANY + 1; i++)
		links[i] = &b->links[i];
	enum err err = link_write_create(conn, b->news, count, links, b->is_made);
	if (err == OK)
		assert_int_equal(pg_conn_commit(conn), OK);
	else
		pg_conn_rollback(conn);
	return err;
}

TEST_CASE(creates_free_slugs_and_skips_taken_ones)
{
	struct link_fixture *f = *state;
	static const char *const slugs[] = { "z", "taken", "a", "buried", "m" };
	link_fixture_make(f, "taken");
	test_database_run(f->db, "INSERT INTO link_tombstones VALUES ('buried', 99, 'DELETED', 3)");
	struct bulk *b = bulk_of(slugs, 5);
	assert_int_equal(create(f->api, b, 5), OK);
	static const bool expected[] = { true, false, true, false, true };
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(b->is_made[i], expected[i]);
		if (expected[i])
			assert_string_equal(b->links[i].entry.slug, slugs[i]);
	}
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links"), 4);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox WHERE priority = 0"),
	                 4);
	free(b);
}

TEST_CASE(stores_every_field_and_records_the_event)
{
	struct link_fixture *f = *state;
	static const char *const slugs[] = { "plain", "full" };
	struct link_tags tags = { .count = 2, .tag = { "a,b \"c\" {d}", "NULL" } };
	struct bulk *b = bulk_of(slugs, 2);
	b->news[1].expired_url = "https://example.com/late";
	b->news[1].title = "It's \\ a \"title\"";
	b->news[1].tags = &tags;
	b->news[1].redirect_status = 308;
	b->news[1].starts_at_us = INT64_C(4102444800012345);
	b->news[1].expires_at_us = INT64_C(4102444800123456);
	assert_int_equal(create(f->api, b, 2), OK);

	assert_int_equal(b->links[0].entry.starts_at_us, 0);
	assert_int_equal(b->links[0].entry.expires_at_us, 0);
	assert_string_equal(b->links[0].entry.expired_url, "");
	assert_int_equal(b->links[0].tags.count, 0);
	assert_int_equal(link_store_get(f->api, b->links[1].entry.id, 1, &f->link), OK);
	assert_int_equal(f->link.entry.redirect_status, 308);
	assert_int_equal(f->link.entry.starts_at_us, INT64_C(4102444800012345));
	assert_int_equal(f->link.entry.expires_at_us, INT64_C(4102444800123456));
	assert_string_equal(f->link.entry.expired_url, "https://example.com/late");
	assert_string_equal(f->link.title, "It's \\ a \"title\"");
	assert_int_equal(f->link.tags.count, 2);
	assert_string_equal(f->link.tags.tag[0], "a,b \"c\" {d}");
	assert_int_equal(f->link.type, LINK_TYPE_PERMANENT);
	struct link_event *event = link_fixture_recorded(f, 1);
	assert_int_equal(event->change, LINK_CHANGE_CREATED);
	assert_string_equal(event->link.entry.expired_url, "https://example.com/late");
	free(event);
	free(b);
}

TEST_CASE(lists_show_a_bulk_in_the_order_of_the_request)
{
	struct link_fixture *f = *state;
	struct bulk *b = bulk_of_many(MANY);
	assert_int_equal(create(f->api, b, MANY), OK);
	struct pg_result *rows = NULL;
	assert_int_equal(pg_conn_query(f->api,
	                               "SELECT slug FROM links ORDER BY created_at DESC, id DESC",
	                               NULL, &rows),
	                 OK);
	assert_int_equal(pg_result_count(rows), MANY);
	for (size_t i = 0; i < MANY; i++)
		assert_string_equal(pg_result_text(rows, i, 0), b->slugs[MANY - 1 - i]);
	pg_result_free(rows);
	free(b);
}

TEST_CASE(refuses_too_many_links_and_an_unknown_owner)
{
	struct link_fixture *f = *state;
	struct bulk *b = bulk_of_many(MANY + 1);
	assert_int_equal(create(f->api, b, MANY + 1), ERR_LIMIT);
	b->news[0].workspace_id = 999;
	assert_int_equal(create(f->api, b, 2), ERR_NOT_FOUND);
	assert_int_equal(create(f->api, b, 0), OK);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links"), 0);
	free(b);
}

/* Both want the same slugs, one from a to z, the other from z to a. */
struct rival {
	struct pg_conn *conn;
	struct bulk *bulk;
	size_t count;
	enum err err;
};

static void *compete(void *arg)
{
	struct rival *rival = arg;
	rival->err = create(rival->conn, rival->bulk, rival->count);
	return NULL;
}

TEST_CASE(two_bulks_with_the_same_slugs_do_not_deadlock)
{
	struct link_fixture *f = *state;
	struct rival rivals[2];
	for (size_t i = 0; i < 2; i++) {
		rivals[i].conn = test_database_connect(f->db, "waymark_links_api");
		rivals[i].bulk = bulk_of_many(300);
		rivals[i].count = 300;
	}
	for (size_t i = 0; i < 300; i++)
		rivals[1].bulk->news[i].slug = rivals[1].bulk->slugs[299 - i];
	pthread_t threads[2];
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, compete, &rivals[i]), 0);
	size_t made = 0;
	for (size_t i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(rivals[i].err, OK);
		for (size_t k = 0; k < 300; k++)
			made += rivals[i].bulk->is_made[k];
		pg_conn_close(rivals[i].conn);
		free(rivals[i].bulk);
	}
	assert_int_equal(made, 300);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links"), 300);
}

static bool is_waiting_for_a_lock(struct link_fixture *f)
{
	return test_database_ask(
		       f->db,
		       "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
		       "wait_event_type = 'Lock'") == 1;
}

TEST_CASE(reports_a_concurrent_purge_and_finds_the_tombstone_at_the_next_try)
{
	struct link_fixture *f = *state;
	static const char *const slugs[] = { "free", "purged" };
	struct rival rival = { .conn = test_database_connect(f->db, "waymark_links_api"),
		               .count = 2 };
	rival.bulk = bulk_of(slugs, 2);
	link_fixture_make(f, "purged");
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(link_store_lock(f->api, f->link.entry.id, 1, &f->link), OK);
	assert_int_equal(link_store_purge(f->api, &f->link), OK);
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, compete, &rival), 0);
	struct timespec tick = { .tv_nsec = 5000000 };
	for (int left = 12000; !is_waiting_for_a_lock(f); left--) {
		assert_true(left > 0);
		nanosleep(&tick, NULL);
	}
	assert_int_equal(pg_conn_commit(f->api), OK);
	pthread_join(thread, NULL);
	assert_int_equal(rival.err, ERR_CONFLICT);
	assert_int_equal(create(rival.conn, rival.bulk, 2), OK);
	assert_true(rival.bulk->is_made[0]);
	assert_false(rival.bulk->is_made[1]);
	pg_conn_close(rival.conn);
	free(rival.bulk);
}

/* --- updates --- */

static const enum link_change changes[] = { LINK_CHANGE_DISABLED, LINK_CHANGE_UPDATED };

/* Two links, disabled in memory only. */
static struct link *two_links(struct link_fixture *f)
{
	static const char *const slugs[] = { "one", "two" };
	struct link *links = mem_array(2, sizeof(*links));
	for (size_t i = 0; i < 2; i++) {
		link_fixture_make(f, slugs[i]);
		links[i] = f->link;
		links[i].entry.state = LINK_STATE_DISABLED;
		links[i].tags.count = 1;
		snprintf(links[i].tags.tag[0], LINK_TAG_SIZE, "a,\"b\" {%zu}", i);
	}
	return links;
}

static enum err write(struct link_fixture *f, struct link *links, size_t count)
{
	assert_int_equal(pg_conn_begin(f->api), OK);
	enum err err = link_write_update(f->api, links, changes, count);
	if (err == OK)
		return pg_conn_commit(f->api);
	pg_conn_rollback(f->api);
	return err;
}

TEST_CASE(writes_each_link_and_records_its_own_change)
{
	struct link_fixture *f = *state;
	struct link *links = two_links(f);
	test_database_run(f->db, "DELETE FROM outbox");
	assert_int_equal(write(f, links, 2), OK);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(links[i].entry.version, 2);
		assert_int_equal(link_store_get(f->api, links[i].entry.id, 1, &f->other), OK);
		assert_int_equal(f->other.entry.version, 2);
		assert_int_equal(f->other.entry.state, LINK_STATE_DISABLED);
		assert_string_equal(f->other.tags.tag[0], links[i].tags.tag[0]);
		struct link_event *event = link_fixture_recorded(f, i);
		assert_int_equal(event->link.entry.version, 2);
		assert_int_equal(event->change, event->link.entry.id == links[0].entry.id
		                                        ? LINK_CHANGE_DISABLED
		                                        : LINK_CHANGE_UPDATED);
		free(event);
	}
	free(links);
}

TEST_CASE(changes_nothing_if_one_link_is_at_another_version)
{
	struct link_fixture *f = *state;
	struct link *links = two_links(f);
	test_database_run(f->db, "UPDATE links SET version = 7 WHERE slug = 'two'");
	assert_int_equal(write(f, links, 2), ERR_CONFLICT);
	assert_int_equal(
		test_database_ask(f->db, "SELECT count(*) FROM links WHERE state = 'ACTIVE'"), 2);
	assert_int_equal(links[0].entry.version, 1);
	assert_int_equal(write(f, links, LINK_WRITE_MAX + 1), ERR_LIMIT);
	assert_int_equal(write(f, links, 0), OK);
	free(links);
}

TEST_CASE(keeps_the_state_before_a_deletion_for_a_restore)
{
	struct link_fixture *f = *state;
	struct link *links = two_links(f);
	assert_int_equal(write(f, links, 2), OK);
	for (size_t i = 0; i < 2; i++)
		links[i].entry.state = LINK_STATE_DELETED;
	assert_int_equal(write(f, links, 2), OK);
	assert_int_equal(write(f, links, 2), OK); /* such as new tags of a deleted link */
	assert_int_equal(link_store_get(f->api, links[0].entry.id, 1, &f->other), OK);
	assert_int_equal(f->other.entry.state, LINK_STATE_DELETED);
	assert_int_equal(f->other.state_before_deletion, LINK_STATE_DISABLED);
	free(links);
}

/* Otherwise the pending event would be sent after the next version. */
TEST_CASE(sends_a_pending_low_priority_event_before_the_change)
{
	struct link_fixture *f = *state;
	struct link *links = two_links(f);
	test_database_run(f->db, "UPDATE outbox SET priority = 1");
	assert_int_equal(write(f, links, 1), OK);
	assert_int_equal(
		test_database_ask(
			f->db, "SELECT count(*) FROM outbox WHERE slug = 'one' AND priority = 0"),
		2);
	assert_int_equal(
		test_database_ask(
			f->db, "SELECT count(*) FROM outbox WHERE slug = 'two' AND priority = 1"),
		1);
	free(links);
}

TEST_MAIN(.group_set_up = link_fixture_set_up, .group_tear_down = link_fixture_tear_down,
          .set_up = link_fixture_empty)
