#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "tests/integration/links/link_fixture.h"
#include "tests/support/test.h"

static void assert_same_link(const struct link *a, const struct link *b)
{
	assert_int_equal(a->entry.id, b->entry.id);
	assert_int_equal(a->entry.version, b->entry.version);
	assert_int_equal(a->entry.state, b->entry.state);
	assert_int_equal(a->entry.redirect_status, b->entry.redirect_status);
	assert_int_equal(a->entry.starts_at_us, b->entry.starts_at_us);
	assert_int_equal(a->entry.expires_at_us, b->entry.expires_at_us);
	assert_string_equal(a->entry.slug, b->entry.slug);
	assert_string_equal(a->entry.original_url, b->entry.original_url);
	assert_string_equal(a->entry.expired_url, b->entry.expired_url);
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->workspace_id, b->workspace_id);
	assert_string_equal(a->title, b->title);
	assert_int_equal(a->tags.count, b->tags.count);
	for (size_t i = 0; i < a->tags.count; i++)
		assert_string_equal(a->tags.tag[i], b->tags.tag[i]);
	assert_int_equal(a->created_at_us, b->created_at_us);
	assert_int_equal(a->updated_at_us, b->updated_at_us);
	assert_int_equal(a->entry.is_blocked, b->entry.is_blocked);
	assert_string_equal(a->external_id, b->external_id);
}

static void assert_same_extras(const struct link *a, const struct link *b)
{
	assert_false(a->entry.lacks_extras);
	assert_int_equal(a->entry.extras_len, b->entry.extras_len);
	assert_memory_equal(a->entry.extras, b->entry.extras, b->entry.extras_len);
	assert_int_equal(a->features, b->features);
	assert_string_equal(a->blocked_reason, b->blocked_reason);
	assert_int_equal(a->alias_count, b->alias_count);
}

TEST_CASE(stores_every_field_of_a_new_link_and_records_the_event)
{
	struct link_fixture *f = *state;
	struct link_tags tags = { .count = 3,
		                  .tag = { "a,b \"c\" {d}", "\xf0\x9f\x94\x97", "NULL" } };
	struct link_write_new new_link = link_fixture_plain("every-field");
	new_link.expired_url = "https://example.com/late";
	new_link.title = "It's \\ a \"title\"";
	new_link.tags = &tags;
	new_link.redirect_status = 308;
	new_link.starts_at_us = INT64_C(4102444800012345);
	new_link.expires_at_us = INT64_C(4102444800123456);
	new_link.extras = (const uint8_t *)"\0\xff'\\";
	new_link.extras_len = 4;
	new_link.features = 63;
	new_link.external_id = "\xc3\xa4/1";
	assert_int_equal(link_fixture_create(f->api, &new_link, &f->link), OK);

	assert_int_equal(f->link.entry.version, 1);
	assert_int_equal(f->link.entry.state, LINK_STATE_ACTIVE);
	assert_int_equal(f->link.entry.redirect_status, 308);
	assert_int_equal(f->link.entry.starts_at_us, INT64_C(4102444800012345));
	assert_int_equal(f->link.entry.expires_at_us, INT64_C(4102444800123456));
	assert_string_equal(f->link.entry.expired_url, "https://example.com/late");
	assert_int_equal(f->link.type, LINK_TYPE_PERMANENT);
	assert_int_equal(f->link.workspace_id, 1);
	assert_string_equal(f->link.title, new_link.title);
	assert_int_equal(f->link.tags.count, 3);
	assert_string_equal(f->link.tags.tag[0], "a,b \"c\" {d}");
	assert_string_equal(f->link.tags.tag[2], "NULL");
	assert_int_equal(f->link.entry.extras_len, 4);
	assert_memory_equal(f->link.entry.extras, "\0\xff'\\", 4);
	assert_int_equal(f->link.features, 63);
	assert_string_equal(f->link.external_id, "\xc3\xa4/1");

	assert_int_equal(link_store_get(f->api, f->link.entry.id, 1, &f->other), OK);
	assert_same_link(&f->other, &f->link);
	assert_same_extras(&f->other, &f->link);
	struct link_event *event = link_fixture_recorded(f, 0);
	assert_int_equal(event->change, LINK_CHANGE_CREATED);
	assert_same_link(&event->link, &f->link);
	free(event);
}

TEST_CASE(finds_the_entry_that_a_redirect_needs)
{
	struct link_fixture *f = *state;
	link_fixture_make(f, "for-visitors");
	struct pg_conn *redirector = test_database_connect(f->db, "waymark_redirector");
	struct link_entry entry = { 0 };
	assert_int_equal(link_store_find_entry(redirector, "for-visitors", &entry), OK);
	assert_int_equal(entry.id, f->link.entry.id);
	assert_string_equal(entry.original_url, "https://example.com/");
	assert_string_equal(entry.expired_url, "");
	assert_int_equal(entry.expires_at_us, 0);
	assert_int_equal(link_store_find_entry(redirector, "For-Visitors", &entry), ERR_NOT_FOUND);
	assert_int_equal(link_store_find_entry(redirector, "=for-visitors", &entry), ERR_CONFLICT);
	/* The redirector may only read. */
	pg_conn_set_log(redirector, NULL);
	assert_int_equal(
		pg_conn_query(redirector, "UPDATE links SET state = 'DELETED'", NULL, NULL),
		ERR_INTERNAL);
	pg_conn_close(redirector);
}

/* What renaming leaves behind. */
static void add_alias(struct link_fixture *f, const char *alias, bool is_exact)
{
	char sql[256];
	snprintf(sql, sizeof(sql),
	         "INSERT INTO link_aliases (slug, slug_chosen, slug_exact, link_id) "
	         "VALUES ('%s', true, %s, %lld)",
	         alias, is_exact ? "true" : "false", (long long)f->link.entry.id);
	test_database_run(f->db, sql);
}

TEST_CASE(finds_a_link_by_its_aliases_too)
{
	struct link_fixture *f = *state;
	struct link_write_new new_link = link_fixture_plain("Now");
	struct link_entry entry;
	struct pg_conn *redirector = test_database_connect(f->db, "waymark_redirector");
	new_link.extras = (const uint8_t *)"\0x";
	new_link.extras_len = 2;
	assert_int_equal(link_fixture_create(f->api, &new_link, &f->link), OK);
	add_alias(f, "Before", false);
	add_alias(f, "Exact", true);
	assert_int_equal(link_store_find_entry(redirector, "before", &entry), OK);
	assert_string_equal(entry.slug, "Before");
	assert_string_equal(entry.alias_of, "Now");
	assert_true(entry.is_slug_chosen);
	assert_false(entry.is_slug_exact);
	assert_true(link_answers_to(&entry, "BEFORE"));
	assert_false(link_answers_to(&entry, "Now"));
	assert_int_equal(entry.id, f->link.entry.id);
	assert_string_equal(entry.original_url, "https://example.com/");
	assert_int_equal(entry.extras_len, 2);
	assert_memory_equal(entry.extras, "\0x", 2);
	assert_int_equal(link_store_find_entry(redirector, "=Exact", &entry), OK);
	assert_true(link_answers_to(&entry, "Exact"));
	assert_false(link_answers_to(&entry, "exact"));
	assert_int_equal(link_store_find_entry(redirector, "exact", &entry), ERR_CONFLICT);
	assert_int_equal(link_store_find_entry(redirector, "=before", &entry), ERR_CONFLICT);
	assert_int_equal(link_store_find_entry(redirector, "=exact", &entry), ERR_NOT_FOUND);
	assert_int_equal(link_store_find_entry(redirector, "now", &entry), OK);
	assert_string_equal(entry.slug, "Now");
	assert_string_equal(entry.alias_of, "");
	pg_conn_close(redirector);
}

TEST_CASE(pages_of_keys_have_those_of_aliases)
{
	struct link_fixture *f = *state;
	struct link_store_key_page *page = mem_zero(sizeof(*page));
	int64_t id = 0;
	link_fixture_make(f, "b");
	add_alias(f, "A", false);
	add_alias(f, "C", true);
	assert_int_equal(link_store_next_keys(f->api, page), OK);
	assert_int_equal(page->count, 3);
	assert_string_equal(page->keys[0], "=C");
	assert_string_equal(page->keys[1], "a");
	assert_string_equal(page->keys[2], "b");
	assert_string_equal(page->last, "b");
	assert_int_equal(link_store_new_keys(f->api, &id, page), OK);
	assert_int_equal(page->count, 3);
	assert_int_equal(id, f->link.entry.id);
	assert_int_equal(link_store_new_keys(f->api, &id, page), OK);
	assert_int_equal(page->count, 0);
	free(page);
}

/* Else the next page would begin behind them. */
TEST_CASE(a_page_of_new_keys_does_not_part_the_names_of_a_link)
{
	struct link_fixture *f = *state;
	struct link_store_key_page *page = mem_zero(sizeof(*page));
	int64_t id = 0;
	test_database_run(f->db, "INSERT INTO links (slug, link_type, original_url, workspace_id) "
	                         "SELECT 'new-' || n, 'PERMANENT', 'https://example.com/', 1 "
	                         "FROM generate_series(1, 4999) AS n");
	link_fixture_make(f, "named");
	for (char name[] = "a"; name[0] < 'a' + LINK_ALIASES_MAX; name[0]++)
		add_alias(f, name, false);
	assert_int_equal(link_store_new_keys(f->api, &id, page), OK);
	assert_int_equal(page->count, LINK_STORE_KEY_PAGE_MAX + LINK_ALIASES_MAX);
	assert_int_equal(id, f->link.entry.id);
	free(page);
}

TEST_CASE(a_workspace_has_an_external_id_once)
{
	struct link_fixture *f = *state;
	struct link_write_new first = link_fixture_plain("first"),
			      second = link_fixture_plain("second");
	first.external_id = second.external_id = "same";
	assert_int_equal(link_fixture_create(f->api, &first, &f->link), OK);
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(link_fixture_add(f->api, &second, &f->link), ERR_CONFLICT);
	assert_string_equal(pg_conn_constraint(f->api), LINK_WRITE_EXTERNAL_ID_KEY);
	pg_conn_rollback(f->api);
	second.workspace_id = 2;
	assert_int_equal(link_fixture_create(f->api, &second, &f->link), OK);
}

TEST_CASE(the_transaction_continues_after_a_taken_slug)
{
	struct link_fixture *f = *state;
	link_fixture_make(f, "taken");
	struct link_write_new again = link_fixture_plain("taken"),
			      free_one = link_fixture_plain("free");
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(link_fixture_add(f->api, &again, &f->link), ERR_CONFLICT);
	assert_int_equal(link_fixture_add(f->api, &free_one, &f->link), OK);
	assert_int_equal(pg_conn_commit(f->api), OK);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links"), 2);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox"), 2);
}

TEST_CASE(slugs_that_differ_by_case_alone_clash_unless_both_are_exact)
{
	struct link_fixture *f = *state;
	struct link_write_new lower = link_fixture_plain("case"),
			      upper = link_fixture_plain("CASE");
	for (int i = 0; i < 4; i++) {
		lower.is_slug_exact = i & 1;
		upper.is_slug_exact = i & 2;
		assert_int_equal(link_fixture_create(f->api, &lower, &f->link), OK);
		assert_int_equal(f->link.entry.is_slug_exact, lower.is_slug_exact);
		assert_int_equal(link_fixture_create(f->api, &upper, &f->link),
		                 i == 3 ? OK : ERR_CONFLICT);
		assert_int_equal(link_fixture_create(f->api, &lower, &f->link), ERR_CONFLICT);
		test_database_run(f->db, "DELETE FROM links");
	}
}

TEST_CASE(the_key_is_the_same_in_sql_and_c)
{
	struct link_fixture *f = *state;
	for (int i = 0; i < 2; i++) {
		char key[SLUG_KEY_SIZE];
		struct link_entry entry;
		struct link_write_new new_link = link_fixture_plain("A.b_C-9");
		new_link.is_slug_exact = i == 1;
		assert_int_equal(link_fixture_create(f->api, &new_link, &f->link), OK);
		link_key(&f->link.entry, key);
		assert_int_equal(link_store_find_entry(f->api, key, &entry), OK);
		assert_string_equal(entry.slug, "A.b_C-9");
		test_database_run(f->db, "DELETE FROM links");
	}
}

TEST_CASE(a_link_without_an_owner_needs_an_expiry_time)
{
	struct link_fixture *f = *state;
	static const uint8_t hash[DIGEST_SIZE] = { 1, 2, 3 };
	struct link_write_new new_link = link_fixture_plain("temporary");
	new_link.workspace_id = 0;
	new_link.claim_token_hash = hash;
	assert_int_equal(link_fixture_create(f->api, &new_link, &f->link), ERR_INVALID);
	new_link.expires_at_us = INT64_C(4102444800000000);
	assert_int_equal(link_fixture_create(f->api, &new_link, &f->link), OK);
	assert_int_equal(f->link.type, LINK_TYPE_TEMPORARY);
	assert_int_equal(f->link.workspace_id, 0);
	assert_int_equal(
		test_database_ask(f->db, "SELECT get_byte(claim_token_hash, 2) FROM links"), 3);
}

TEST_CASE(refuses_an_unknown_owner_and_invalid_tags)
{
	struct link_fixture *f = *state;
	struct link_write_new new_link = link_fixture_plain("refused");
	new_link.workspace_id = 999;
	assert_int_equal(link_fixture_create(f->api, &new_link, &f->link), ERR_NOT_FOUND);
	struct link_tags tags = { .count = 1, .tag = { "" } };
	new_link = link_fixture_plain("refused");
	new_link.tags = &tags;
	assert_int_equal(link_fixture_create(f->api, &new_link, &f->link), ERR_INVALID);
	memcpy(tags.tag[0],
	       "a\x1f"
	       "b",
	       4);
	assert_int_equal(link_fixture_create(f->api, &new_link, &f->link), ERR_INVALID);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links"), 0);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox"), 0);
}

TEST_CASE(links_of_other_owners_appear_missing)
{
	struct link_fixture *f = *state;
	link_fixture_make(f, "mine");
	int64_t id = f->link.entry.id;
	assert_int_equal(link_store_get(f->api, id, 2, &f->other), ERR_NOT_FOUND);
	assert_int_equal(link_store_get(f->api, id + 1000, 1, &f->other), ERR_NOT_FOUND);
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(link_store_lock(f->api, id, 2, &f->other), ERR_NOT_FOUND);
	pg_conn_rollback(f->api);
}

TEST_CASE(administrators_see_links_of_all_owners_and_of_none)
{
	struct link_fixture *f = *state;
	struct link_write_new anonymous = link_fixture_plain("nobodys");
	anonymous.workspace_id = 0;
	anonymous.expires_at_us = INT64_C(4102444800000000);
	link_fixture_make(f, "somebodys");
	assert_int_equal(
		link_store_get(f->api, f->link.entry.id, LINK_STORE_ANY_WORKSPACE, &f->other), OK);
	assert_string_equal(f->other.entry.slug, "somebodys");
	assert_int_equal(link_fixture_create(f->api, &anonymous, &f->link), OK);
	assert_int_equal(
		link_store_get(f->api, f->link.entry.id, LINK_STORE_ANY_WORKSPACE, &f->other), OK);
	assert_string_equal(f->other.entry.slug, "nobodys");
	assert_int_equal(link_store_get(f->api, f->link.entry.id, 0, &f->other), ERR_NOT_FOUND);
	assert_int_equal(link_store_get(f->api, INT64_MAX, LINK_STORE_ANY_WORKSPACE, &f->other),
	                 ERR_NOT_FOUND);
}

TEST_CASE(each_write_raises_the_version_and_records_an_event)
{
	struct link_fixture *f = *state;
	link_fixture_make(f, "written");
	int64_t created_at_us = f->link.created_at_us, updated_at_us = f->link.updated_at_us;
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(link_store_lock(f->api, f->link.entry.id, 1, &f->link), OK);
	memcpy(f->link.entry.original_url, "https://example.org/", 21);
	f->link.entry.redirect_status = 301;
	f->link.entry.starts_at_us = INT64_C(4102444800123456);
	f->link.tags = (struct link_tags){ .count = 1, .tag = { "new" } };
	memcpy(f->link.title, "Title", 6);
	f->link.entry.extras_len = LINK_EXTRAS_BYTES_MAX;
	memset(f->link.entry.extras, 0xe7, LINK_EXTRAS_BYTES_MAX);
	f->link.features = 9;
	f->link.alias_count = 20;
	memcpy(f->link.external_id, "number 1", 9);
	memcpy(f->link.blocked_reason, "phishing", 9);
	assert_int_equal(link_fixture_update(f->api, &f->link, LINK_CHANGE_UPDATED), OK);
	assert_int_equal(pg_conn_commit(f->api), OK);

	assert_int_equal(f->link.entry.version, 2);
	assert_int_equal(f->link.created_at_us, created_at_us);
	assert_true(f->link.updated_at_us > updated_at_us);
	assert_int_equal(link_store_get(f->api, f->link.entry.id, 1, &f->other), OK);
	assert_same_link(&f->other, &f->link);
	assert_string_equal(f->other.entry.original_url, "https://example.org/");
	assert_int_equal(f->other.entry.starts_at_us, INT64_C(4102444800123456));
	assert_same_extras(&f->other, &f->link);
	assert_int_equal(f->other.entry.extras_len, LINK_EXTRAS_BYTES_MAX);
	assert_true(f->other.entry.is_blocked);
	struct link_event *event = link_fixture_recorded(f, 1);
	assert_int_equal(event->change, LINK_CHANGE_UPDATED);
	assert_same_link(&event->link, &f->link);
	free(event);
}

TEST_CASE(refuses_to_update_an_outdated_version)
{
	struct link_fixture *f = *state;
	link_fixture_make(f, "stale");
	f->other = f->link;
	link_fixture_change(f, f->link.entry.id, LINK_STATE_DISABLED, LINK_CHANGE_DISABLED);
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(link_fixture_update(f->api, &f->other, LINK_CHANGE_UPDATED), ERR_CONFLICT);
	pg_conn_rollback(f->api);
	assert_int_equal(f->other.entry.version, 1);
}

TEST_CASE(a_rollback_reverts_the_change_and_its_event)
{
	struct link_fixture *f = *state;
	struct link_write_new new_link = link_fixture_plain("undone");
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(link_fixture_add(f->api, &new_link, &f->link), OK);
	pg_conn_rollback(f->api);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links"), 0);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox"), 0);
}

TEST_MAIN(.group_set_up = link_fixture_set_up, .group_tear_down = link_fixture_tear_down,
          .set_up = link_fixture_empty)
