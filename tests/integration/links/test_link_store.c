#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/links/link_event.h"
#include "lib/links/link_store.h"
#include "lib/links/outbox.h"
#include "tests/support/test_database.h"

/* One database for all tests of this program: each has slugs of its own, and the queues are emptied before it. */
struct fixture {
	struct test_database *db;
	struct pg_conn *api;     /* with the rights of links-api */
	struct pg_conn *janitor; /* with those of the janitor */
	struct link link;
	struct link other;
};

static int set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	f->db = test_database_new();
	f->api = test_database_connect(f->db, "waymark_links_api");
	f->janitor = test_database_connect(f->db, "waymark_janitor");
	test_database_run(
		f->db,
		"INSERT INTO users (email, password_hash) VALUES ('a@example.com', 'x'), ('b@example.com', 'x')");
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	pg_conn_close(f->api);
	pg_conn_close(f->janitor);
	test_database_drop(f->db);
	free(f);
	return 0;
}

static int empty(void **state)
{
	struct fixture *f = *state;
	test_database_run(f->db, "TRUNCATE outbox, link_tombstones, links");
	return 0;
}

static struct link_store_new plain(const char *slug)
{
	return (struct link_store_new){
		.slug = slug,
		.original_url = "https://example.com/",
		.redirect_status = 302,
		.owner_id = 1,
	};
}

static enum err create(struct pg_conn *conn, const struct link_store_new *new_link, struct link *out)
{
	assert_int_equal(pg_conn_begin(conn), OK);
	enum err err = link_store_create(conn, new_link, out);
	assert_int_equal(pg_conn_commit(conn), OK);
	return err;
}

static void make(struct fixture *f, const char *slug)
{
	struct link_store_new new_link = plain(slug);
	assert_int_equal(create(f->api, &new_link, &f->link), OK);
}

/* Changes the link of that id as its owner would. */
static void change(struct fixture *f, int64_t id, enum link_state state, enum link_change kind)
{
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(link_store_lock(f->api, id, 1, &f->link), OK);
	f->link.entry.state = state;
	assert_int_equal(link_store_write(f->api, &f->link, kind), OK);
	assert_int_equal(pg_conn_commit(f->api), OK);
}

/* The event at a place in the outbox. */
static struct link_event *recorded(struct fixture *f, size_t place)
{
	struct outbox_batch batch;
	struct link_event *event = mem_zero(sizeof(*event));
	assert_int_equal(outbox_read(f->api, 100, &batch), OK);
	assert_true(place < batch.count);
	assert_int_equal(link_event_decode(batch.rows[place].payload, batch.rows[place].payload_len, event), OK);
	assert_string_equal(batch.rows[place].slug, event->link.entry.slug);
	outbox_batch_clear(&batch);
	return event;
}

static void assert_same_link(const struct link *a, const struct link *b)
{
	assert_int_equal(a->entry.id, b->entry.id);
	assert_int_equal(a->entry.version, b->entry.version);
	assert_int_equal(a->entry.state, b->entry.state);
	assert_int_equal(a->entry.redirect_status, b->entry.redirect_status);
	assert_int_equal(a->entry.expires_at_us, b->entry.expires_at_us);
	assert_string_equal(a->entry.slug, b->entry.slug);
	assert_string_equal(a->entry.original_url, b->entry.original_url);
	assert_string_equal(a->entry.expired_url, b->entry.expired_url);
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->owner_id, b->owner_id);
	assert_string_equal(a->title, b->title);
	assert_int_equal(a->tags.count, b->tags.count);
	for (size_t i = 0; i < a->tags.count; i++)
		assert_string_equal(a->tags.tag[i], b->tags.tag[i]);
	assert_int_equal(a->created_at_us, b->created_at_us);
	assert_int_equal(a->updated_at_us, b->updated_at_us);
}

static void keeps_every_field_of_a_new_link_and_records_it(void **state)
{
	struct fixture *f = *state;
	struct link_tags tags = { .count = 3, .tag = { "a,b \"c\" {d}", "\xf0\x9f\x94\x97", "NULL" } };
	struct link_store_new new_link = plain("every-field");
	new_link.expired_url = "https://example.com/late";
	new_link.title = "It's \\ a \"title\"";
	new_link.tags = &tags;
	new_link.redirect_status = 308;
	new_link.expires_at_us = INT64_C(4102444800123456);
	assert_int_equal(create(f->api, &new_link, &f->link), OK);

	assert_int_equal(f->link.entry.version, 1);
	assert_int_equal(f->link.entry.state, LINK_STATE_ACTIVE);
	assert_int_equal(f->link.entry.redirect_status, 308);
	assert_int_equal(f->link.entry.expires_at_us, INT64_C(4102444800123456));
	assert_string_equal(f->link.entry.expired_url, "https://example.com/late");
	assert_int_equal(f->link.type, LINK_TYPE_PERMANENT);
	assert_int_equal(f->link.owner_id, 1);
	assert_string_equal(f->link.title, new_link.title);
	assert_int_equal(f->link.tags.count, 3);
	assert_string_equal(f->link.tags.tag[0], "a,b \"c\" {d}");
	assert_string_equal(f->link.tags.tag[2], "NULL");

	assert_int_equal(link_store_get(f->api, f->link.entry.id, 1, &f->other), OK);
	assert_same_link(&f->other, &f->link);
	struct link_event *event = recorded(f, 0);
	assert_int_equal(event->change, LINK_CHANGE_CREATED);
	assert_same_link(&event->link, &f->link);
	free(event);
}

static void gives_visitors_what_an_answer_takes(void **state)
{
	struct fixture *f = *state;
	make(f, "for-visitors");
	struct pg_conn *redirector = test_database_connect(f->db, "waymark_redirector");
	struct link_entry entry = { 0 };
	assert_int_equal(link_store_find_entry(redirector, "for-visitors", &entry), OK);
	assert_int_equal(entry.id, f->link.entry.id);
	assert_string_equal(entry.original_url, "https://example.com/");
	assert_string_equal(entry.expired_url, "");
	assert_int_equal(entry.expires_at_us, 0);
	assert_int_equal(link_store_find_entry(redirector, "For-Visitors", &entry), ERR_NOT_FOUND);
	/* The redirector only reads. */
	pg_conn_set_log(redirector, NULL);
	assert_int_equal(pg_conn_query(redirector, "UPDATE links SET state = 'DELETED'", NULL, NULL), ERR_INTERNAL);
	pg_conn_close(redirector);
}

static void lets_the_transaction_go_on_after_a_taken_slug(void **state)
{
	struct fixture *f = *state;
	make(f, "taken");
	struct link_store_new again = plain("taken"), free_one = plain("free");
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(link_store_create(f->api, &again, &f->link), ERR_CONFLICT);
	assert_int_equal(link_store_create(f->api, &free_one, &f->link), OK);
	assert_int_equal(pg_conn_commit(f->api), OK);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links"), 2);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox"), 2);
}

static void tells_links_apart_by_the_case_of_their_slugs(void **state)
{
	struct fixture *f = *state;
	make(f, "case");
	make(f, "CASE");
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links"), 2);
}

static void makes_a_temporary_link_without_an_owner_only_with_an_end(void **state)
{
	struct fixture *f = *state;
	static const uint8_t hash[DIGEST_SIZE] = { 1, 2, 3 };
	struct link_store_new new_link = plain("temporary");
	new_link.owner_id = 0;
	new_link.claim_token_hash = hash;
	assert_int_equal(create(f->api, &new_link, &f->link), ERR_INVALID);
	new_link.expires_at_us = INT64_C(4102444800000000);
	assert_int_equal(create(f->api, &new_link, &f->link), OK);
	assert_int_equal(f->link.type, LINK_TYPE_TEMPORARY);
	assert_int_equal(f->link.owner_id, 0);
	assert_int_equal(test_database_ask(f->db, "SELECT get_byte(claim_token_hash, 2) FROM links"), 3);
}

static void refuses_a_link_of_nobody_known_or_with_a_tag_that_cannot_be_kept(void **state)
{
	struct fixture *f = *state;
	struct link_store_new new_link = plain("refused");
	new_link.owner_id = 999;
	assert_int_equal(create(f->api, &new_link, &f->link), ERR_NOT_FOUND);
	struct link_tags tags = { .count = 1, .tag = { "" } };
	new_link = plain("refused");
	new_link.tags = &tags;
	assert_int_equal(create(f->api, &new_link, &f->link), ERR_INVALID);
	memcpy(tags.tag[0],
	       "a\x1f"
	       "b",
	       4);
	assert_int_equal(create(f->api, &new_link, &f->link), ERR_INVALID);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links"), 0);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox"), 0);
}

static void hides_links_of_others_as_if_they_were_missing(void **state)
{
	struct fixture *f = *state;
	make(f, "mine");
	int64_t id = f->link.entry.id;
	assert_int_equal(link_store_get(f->api, id, 2, &f->other), ERR_NOT_FOUND);
	assert_int_equal(link_store_get(f->api, id + 1000, 1, &f->other), ERR_NOT_FOUND);
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(link_store_lock(f->api, id, 2, &f->other), ERR_NOT_FOUND);
	pg_conn_rollback(f->api);
}

static void raises_the_version_with_each_write_and_records_it(void **state)
{
	struct fixture *f = *state;
	make(f, "written");
	int64_t created_at_us = f->link.created_at_us, updated_at_us = f->link.updated_at_us;
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(link_store_lock(f->api, f->link.entry.id, 1, &f->link), OK);
	memcpy(f->link.entry.original_url, "https://example.org/", 21);
	f->link.entry.redirect_status = 301;
	f->link.tags = (struct link_tags){ .count = 1, .tag = { "new" } };
	memcpy(f->link.title, "Title", 6);
	assert_int_equal(link_store_write(f->api, &f->link, LINK_CHANGE_UPDATED), OK);
	assert_int_equal(pg_conn_commit(f->api), OK);

	assert_int_equal(f->link.entry.version, 2);
	assert_int_equal(f->link.created_at_us, created_at_us);
	assert_true(f->link.updated_at_us > updated_at_us);
	assert_int_equal(link_store_get(f->api, f->link.entry.id, 1, &f->other), OK);
	assert_same_link(&f->other, &f->link);
	assert_string_equal(f->other.entry.original_url, "https://example.org/");
	struct link_event *event = recorded(f, 1);
	assert_int_equal(event->change, LINK_CHANGE_UPDATED);
	assert_same_link(&event->link, &f->link);
	free(event);
}

static void refuses_to_write_a_version_that_is_not_there_any_more(void **state)
{
	struct fixture *f = *state;
	make(f, "stale");
	f->other = f->link;
	change(f, f->link.entry.id, LINK_STATE_DISABLED, LINK_CHANGE_DISABLED);
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(link_store_write(f->api, &f->other, LINK_CHANGE_UPDATED), ERR_CONFLICT);
	pg_conn_rollback(f->api);
	assert_int_equal(f->other.entry.version, 1);
}

static void takes_back_what_was_rolled_back_with_its_event(void **state)
{
	struct fixture *f = *state;
	struct link_store_new new_link = plain("undone");
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(link_store_create(f->api, &new_link, &f->link), OK);
	pg_conn_rollback(f->api);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links"), 0);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox"), 0);
}

static void lists_pages_of_the_owner_newest_first_without_deleted_ones(void **state)
{
	struct fixture *f = *state;
	const char *const slugs[] = { "one", "two", "three", "four", "five" };
	for (size_t i = 0; i < 5; i++)
		make(f, slugs[i]);
	change(f, f->link.entry.id - 1, LINK_STATE_DELETED, LINK_CHANGE_DELETED);
	struct link_store_new foreign = plain("foreign");
	foreign.owner_id = 2;
	assert_int_equal(create(f->api, &foreign, &f->link), OK);

	struct link *links = mem_array(LINK_STORE_LIMIT_MAX, sizeof(*links));
	size_t count = 0;
	int64_t total = 0;
	struct link_store_page page = { .owner_id = 1, .page = 1, .limit = 3 };
	assert_int_equal(link_store_list(f->api, &page, links, &count, &total), OK);
	assert_int_equal(count, 3);
	assert_int_equal(total, 4);
	assert_string_equal(links[0].entry.slug, "five");
	assert_string_equal(links[1].entry.slug, "three");
	assert_string_equal(links[2].entry.slug, "two");
	page.page = 2;
	assert_int_equal(link_store_list(f->api, &page, links, &count, &total), OK);
	assert_int_equal(count, 1);
	assert_string_equal(links[0].entry.slug, "one");
	page.page = 3;
	assert_int_equal(link_store_list(f->api, &page, links, &count, &total), OK);
	assert_int_equal(count, 0);
	assert_int_equal(total, 4);
	page.limit = 101;
	assert_int_equal(link_store_list(f->api, &page, links, &count, &total), ERR_INVALID);
	page = (struct link_store_page){ .owner_id = 1, .page = INT64_MAX, .limit = 100 };
	assert_int_equal(link_store_list(f->api, &page, links, &count, &total), ERR_INVALID);
	assert_int_equal(link_store_count(f->api, &total), OK);
	assert_int_equal(total, 5);
	free(links);
}

/* Moves the end of a link to so many seconds from the database's now. */
static void end_in(struct fixture *f, const char *slug, const char *seconds)
{
	char sql[256];
	snprintf(sql, sizeof(sql),
	         "UPDATE links SET expires_at = clock_timestamp() + %s * interval '1 s' WHERE slug = '%s'", seconds,
	         slug);
	test_database_run(f->db, sql);
}

static int64_t expire(struct fixture *f, int64_t limit)
{
	int64_t expired = -1;
	assert_int_equal(pg_conn_begin(f->janitor), OK);
	assert_int_equal(link_store_expire_batch(f->janitor, limit, &expired), OK);
	assert_int_equal(pg_conn_commit(f->janitor), OK);
	return expired;
}

static int64_t purge(struct fixture *f, int64_t expired_grace_s, int64_t deleted_grace_s)
{
	int64_t purged = -1;
	assert_int_equal(pg_conn_begin(f->janitor), OK);
	assert_int_equal(link_store_purge_batch(f->janitor, expired_grace_s, deleted_grace_s, 1000, &purged), OK);
	assert_int_equal(pg_conn_commit(f->janitor), OK);
	return purged;
}

static void expires_what_is_due_and_nothing_else(void **state)
{
	struct fixture *f = *state;
	const char *const slugs[] = { "due", "later", "never", "disabled-and-due" };
	for (size_t i = 0; i < 4; i++)
		make(f, slugs[i]);
	change(f, f->link.entry.id, LINK_STATE_DISABLED, LINK_CHANGE_DISABLED);
	end_in(f, "due", "-1");
	end_in(f, "later", "60");
	end_in(f, "disabled-and-due", "-1");
	test_database_run(f->db, "TRUNCATE outbox");

	assert_int_equal(expire(f, 1000), 1);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links WHERE state = 'EXPIRED' AND slug = 'due' "
	                                          "AND version = 2 AND state_since > created_at"),
	                 1);
	struct link_event *event = recorded(f, 0);
	assert_int_equal(event->change, LINK_CHANGE_EXPIRED);
	assert_int_equal(event->link.entry.state, LINK_STATE_EXPIRED);
	assert_int_equal(event->link.entry.version, 2);
	free(event);
	assert_int_equal(expire(f, 1000), 0);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox"), 1);
}

static void expires_the_oldest_first_and_not_more_than_asked(void **state)
{
	struct fixture *f = *state;
	make(f, "older");
	make(f, "old");
	end_in(f, "older", "-100");
	end_in(f, "old", "-10");
	assert_int_equal(expire(f, 1), 1);
	assert_int_equal(
		test_database_ask(f->db, "SELECT count(*) FROM links WHERE state = 'EXPIRED' AND slug = 'older'"), 1);
	assert_int_equal(expire(f, 1), 1);
	assert_int_equal(expire(f, 1), 0);
}

static void passes_by_what_somebody_else_holds(void **state)
{
	struct fixture *f = *state;
	make(f, "held");
	end_in(f, "held", "-1");
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

static void purges_only_after_the_grace_that_follows_the_mark(void **state)
{
	struct fixture *f = *state;
	make(f, "expired");
	make(f, "deleted");
	change(f, f->link.entry.id, LINK_STATE_DELETED, LINK_CHANGE_DELETED);
	/* Over for a day, but marked only now. */
	end_in(f, "expired", "-86400");
	assert_int_equal(purge(f, 0, 60), 0);
	assert_int_equal(expire(f, 1000), 1);
	assert_int_equal(purge(f, 900, 60), 0);
	test_database_run(f->db, "UPDATE links SET state_since = state_since - interval '61 s'");
	assert_int_equal(purge(f, 900, 60), 1);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links WHERE slug = 'expired'"), 1);
	test_database_run(f->db, "UPDATE links SET state_since = state_since - interval '900 s'");
	assert_int_equal(purge(f, 900, 60), 1);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links"), 0);
}

static void counts_the_grace_anew_when_a_link_was_restored_meanwhile(void **state)
{
	struct fixture *f = *state;
	make(f, "restored");
	int64_t id = f->link.entry.id;
	change(f, id, LINK_STATE_DELETED, LINK_CHANGE_DELETED);
	test_database_run(f->db, "UPDATE links SET state_since = state_since - interval '1 h'");
	change(f, id, LINK_STATE_ACTIVE, LINK_CHANGE_RESTORED);
	assert_int_equal(purge(f, 0, 0), 0);
	change(f, id, LINK_STATE_DELETED, LINK_CHANGE_DELETED);
	assert_int_equal(purge(f, 60, 60), 0);
	/* A change that is none of the state does not begin it anew. */
	test_database_run(f->db, "UPDATE links SET state_since = state_since - interval '1 h'");
	change(f, id, LINK_STATE_DELETED, LINK_CHANGE_UPDATED);
	assert_int_equal(purge(f, 60, 60), 1);
}

static void leaves_a_tombstone_and_an_event_of_a_purged_link(void **state)
{
	struct fixture *f = *state;
	make(f, "purged");
	int64_t id = f->link.entry.id;
	end_in(f, "purged", "-1");
	assert_int_equal(expire(f, 1000), 1);
	assert_int_equal(purge(f, 0, 0), 1);
	assert_int_equal(test_database_ask(f->db, "SELECT link_id FROM link_tombstones WHERE slug = 'purged' "
	                                          "AND last_state = 'EXPIRED' AND version = 3"),
	                 id);
	struct link_event *event = recorded(f, 2);
	assert_int_equal(event->change, LINK_CHANGE_PURGED);
	assert_int_equal(event->link.entry.id, id);
	assert_int_equal(event->link.entry.version, 3);
	assert_int_equal(event->link.entry.state, LINK_STATE_DELETED);
	free(event);
	struct link_store_new again = plain("purged");
	assert_int_equal(create(f->api, &again, &f->link), ERR_CONFLICT);
	struct link_entry entry;
	assert_int_equal(link_store_find_entry(f->api, "purged", &entry), ERR_NOT_FOUND);
}

struct attempt {
	struct pg_conn *conn;
	enum err result;
	struct link link;
};

static void *create_in_thread(void *arg)
{
	struct attempt *attempt = arg;
	struct link_store_new new_link = plain("raced");
	attempt->result = pg_conn_begin(attempt->conn);
	if (attempt->result == OK)
		attempt->result = link_store_create(attempt->conn, &new_link, &attempt->link);
	if (pg_conn_commit(attempt->conn) != OK)
		attempt->result = ERR_INTERNAL;
	return NULL;
}

static void refuses_a_slug_whose_purge_is_not_committed_yet(void **state)
{
	struct fixture *f = *state;
	make(f, "raced");
	change(f, f->link.entry.id, LINK_STATE_DELETED, LINK_CHANGE_DELETED);
	int64_t purged = 0;
	assert_int_equal(pg_conn_begin(f->janitor), OK);
	assert_int_equal(link_store_purge_batch(f->janitor, 0, 0, 10, &purged), OK);
	assert_int_equal(purged, 1);

	struct attempt *attempt = mem_zero(sizeof(*attempt));
	attempt->conn = f->api;
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, create_in_thread, attempt), 0);
	test_database_await(f->db,
	                    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
	                    "AND wait_event_type = 'Lock'",
	                    1, 10000);
	assert_int_equal(pg_conn_commit(f->janitor), OK);
	pthread_join(thread, NULL);
	assert_int_equal(attempt->result, ERR_CONFLICT);
	free(attempt);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, empty)
	const struct CMUnitTest tests[] = {
		TEST(keeps_every_field_of_a_new_link_and_records_it),
		TEST(gives_visitors_what_an_answer_takes),
		TEST(lets_the_transaction_go_on_after_a_taken_slug),
		TEST(tells_links_apart_by_the_case_of_their_slugs),
		TEST(makes_a_temporary_link_without_an_owner_only_with_an_end),
		TEST(refuses_a_link_of_nobody_known_or_with_a_tag_that_cannot_be_kept),
		TEST(hides_links_of_others_as_if_they_were_missing),
		TEST(raises_the_version_with_each_write_and_records_it),
		TEST(refuses_to_write_a_version_that_is_not_there_any_more),
		TEST(takes_back_what_was_rolled_back_with_its_event),
		TEST(lists_pages_of_the_owner_newest_first_without_deleted_ones),
		TEST(expires_what_is_due_and_nothing_else),
		TEST(expires_the_oldest_first_and_not_more_than_asked),
		TEST(passes_by_what_somebody_else_holds),
		TEST(purges_only_after_the_grace_that_follows_the_mark),
		TEST(counts_the_grace_anew_when_a_link_was_restored_meanwhile),
		TEST(leaves_a_tombstone_and_an_event_of_a_purged_link),
		TEST(refuses_a_slug_whose_purge_is_not_committed_yet),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
