/*
 * The names of a link: a change of its slug leaves an alias, and each name has events of its own and
 * never becomes another link's.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/links/link_aliases.h"
#include "lib/links/outbox.h"
#include "tests/integration/links/link_fixture.h"
#include "tests/support/test.h"

/* Of a change that has had err until here. */
static enum err end_change(struct link_fixture *f, enum err err, struct link_aliases_ended *ended)
{
	if (err == OK)
		err = link_fixture_update(f->api, &f->link, LINK_CHANGE_UPDATED);
	if (err == OK)
		err = link_aliases_add_ended(f->api, &f->link, ended);
	if (err == OK)
		return pg_conn_commit(f->api);
	pg_conn_rollback(f->api);
	return err;
}

/* As PATCH does. After an error nothing is changed. ERR_NOT_FOUND: the link is purged. */
static enum err rename_as(struct link_fixture *f, const char *slug, bool is_exact)
{
	struct link_aliases_ended ended = { 0 };
	assert_int_equal(pg_conn_begin(f->api), OK);
	if (link_store_lock(f->api, f->link.entry.id, 1, &f->link) != OK) {
		pg_conn_rollback(f->api);
		return ERR_NOT_FOUND;
	}
	struct link_alias before = link_aliases_slug(&f->link.entry);
	snprintf(f->link.entry.slug, sizeof(f->link.entry.slug), "%s", slug);
	f->link.entry.is_slug_exact = is_exact;
	enum err err = link_aliases_rename(f->api, &before, &f->link, &ended);
	return end_change(f, err, &ended);
}

static void rename_to(struct link_fixture *f, const char *slug)
{
	assert_int_equal(rename_as(f, slug, false), OK);
}

static enum err remove_alias(struct link_fixture *f, const char *slug)
{
	struct link_aliases_ended ended = { 0 };
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(link_store_lock(f->api, f->link.entry.id, 1, &f->link), OK);
	enum err err = link_aliases_remove(f->api, &f->link, slug, &ended);
	return end_change(f, err, &ended);
}

static void assert_aliases(struct link_fixture *f, const char *const *slugs, size_t count)
{
	struct link_aliases aliases = { 0 };
	const struct link_alias *alias;
	assert_int_equal(link_store_get(f->api, f->link.entry.id, 1, &f->link), OK);
	assert_int_equal(f->link.alias_count, count);
	link_aliases_want(&aliases, &f->link);
	assert_int_equal(link_aliases_read(&aliases, f->api), OK);
	assert_int_equal(link_aliases_of(&aliases, f->link.entry.id, &alias), count);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(alias[i].slug, slugs[i]);
	link_aliases_clear(&aliases);
}

/* The events that wait, as "slug<alias_of@version" and "-slug" of a purge. */
static void assert_events(struct link_fixture *f, const char *expected)
{
	char text[2000] = "";
	struct outbox_batch batch;
	struct link_event event;
	assert_int_equal(outbox_read(f->api, 100, 100, &batch), OK);
	for (size_t i = 0; i < batch.count; i++) {
		const struct link_entry *entry = &event.link.entry;
		size_t len = strlen(text);
		assert_int_equal(outbox_row_event(&batch.rows[i], &event), OK);
		assert_string_equal(batch.rows[i].slug, entry->slug);
		assert_int_equal(entry->id, f->link.entry.id);
		assert_int_equal(entry->state == LINK_STATE_DELETED,
		                 event.change == LINK_CHANGE_PURGED);
		snprintf(text + len, sizeof(text) - len, "%s%s%s%s@%d", len ? " " : "",
		         event.change == LINK_CHANGE_PURGED ? "-" : "", entry->slug,
		         entry->alias_of[0] ? "<" : "", (int)entry->version);
		len = strlen(text);
		snprintf(text + len, sizeof(text) - len, "%s", entry->alias_of);
	}
	assert_string_equal(text, expected);
	outbox_batch_clear(&batch);
	test_database_run(f->db, "TRUNCATE outbox");
}

TEST_CASE(a_new_slug_leaves_the_old_one_as_an_alias_and_both_have_events)
{
	struct link_fixture *f = *state;
	link_fixture_make(f, "spring");
	assert_events(f, "spring@1");
	rename_to(f, "summer");
	assert_events(f, "summer@2 spring<@2summer");
	rename_to(f, "autumn");
	assert_events(f, "autumn@3 summer<@3autumn spring<@3autumn");
	assert_aliases(f, (const char *const[]){ "summer", "spring" }, 2);
	link_fixture_change(f, f->link.entry.id, LINK_STATE_DISABLED, LINK_CHANGE_DISABLED);
	assert_events(f, "autumn@4 summer<@4autumn spring<@4autumn");
}

TEST_CASE(an_alias_can_be_the_slug_again)
{
	struct link_fixture *f = *state;
	link_fixture_make(f, "spring");
	rename_to(f, "summer");
	rename_to(f, "spring");
	assert_aliases(f, (const char *const[]){ "summer" }, 1);
	assert_int_equal(f->link.entry.version, 3);
	assert_events(f, "spring@1 summer@2 spring<@2summer spring@3 summer<@3spring");
}

TEST_CASE(another_spelling_of_a_slug_leaves_no_alias)
{
	struct link_fixture *f = *state;
	link_fixture_make(f, "Spring");
	rename_to(f, "sPRing");
	assert_aliases(f, NULL, 0);
	assert_events(f, "Spring@1 sPRing@2 -Spring<@2sPRing");
	rename_to(f, "Spring");
	rename_to(f, "summer");
	rename_to(f, "SPRING");
	assert_aliases(f, (const char *const[]){ "summer" }, 1);
	assert_events(f, "Spring@3 -sPRing<@3Spring summer@4 Spring<@4summer "
	                 "SPRING@5 summer<@5SPRING -Spring<@5SPRING");
}

TEST_CASE(exact_slugs_that_differ_by_case_are_two_names)
{
	struct link_fixture *f = *state;
	struct link_write_new exact = link_fixture_plain("Spring");
	exact.is_slug_chosen = exact.is_slug_exact = true;
	assert_int_equal(link_fixture_create(f->api, &exact, &f->link), OK);
	assert_int_equal(rename_as(f, "spring", true), OK);
	assert_aliases(f, (const char *const[]){ "Spring" }, 1);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM link_aliases "
	                                          "WHERE slug_key = '=Spring' AND slug_exact"),
	                 1);
	/* In either case from now on, so that the alias would lead nowhere else. */
	assert_int_equal(rename_as(f, "SPRING", false), OK);
	assert_aliases(f, NULL, 0);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links "
	                                          "WHERE slug_key = 'spring' AND NOT slug_exact"),
	                 1);
	/* A slug that is found in either case stays so. */
	assert_int_equal(rename_as(f, "spring", true), OK);
	assert_false(f->link.entry.is_slug_exact);
}

TEST_CASE(a_random_slug_that_is_chosen_again_keeps_the_kind_of_each_name)
{
	struct link_fixture *f = *state;
	link_fixture_make(f, "aB3xY9z");
	assert_false(f->link.entry.is_slug_chosen);
	rename_to(f, "Summer");
	assert_true(f->link.entry.is_slug_chosen);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM link_aliases "
	                                          "WHERE slug = 'aB3xY9z' AND NOT slug_chosen"),
	                 1);
}

TEST_CASE(nobody_else_gets_a_name_of_a_link)
{
	struct link_fixture *f = *state;
	const char *const taken[] = { "spring", "SPRING", "summer", "Summer", "gone", "Gone" };
	struct link other;
	link_fixture_make(f, "gone");
	rename_to(f, "spring");
	rename_to(f, "summer");
	assert_int_equal(remove_alias(f, "gone"), OK);
	for (size_t i = 0; i < 6; i++) {
		struct link_write_new wanted = link_fixture_plain(taken[i]);
		assert_int_equal(link_fixture_create(f->api, &wanted, &other), ERR_CONFLICT);
		wanted.is_slug_exact = true;
		assert_int_equal(link_fixture_create(f->api, &wanted, &other), ERR_CONFLICT);
	}
	int64_t id = f->link.entry.id;
	link_fixture_make(f, "mine");
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(rename_as(f, taken[i], i % 2 == 1), ERR_CONFLICT);
		assert_string_equal(pg_conn_constraint(f->api), LINK_WRITE_SLUG_KEY);
	}
	assert_int_equal(test_database_ask(f->db, "SELECT id FROM links WHERE slug = 'summer'"),
	                 id);
}

TEST_CASE(a_link_has_at_most_20_aliases)
{
	struct link_fixture *f = *state;
	char slug[16];
	link_fixture_make(f, "s0");
	for (int i = 1; i <= LINK_ALIASES_MAX; i++) {
		snprintf(slug, sizeof(slug), "s%d", i);
		rename_to(f, slug);
	}
	assert_int_equal(rename_as(f, "s21", false), ERR_LIMIT);
	rename_to(f, "s3");
	assert_int_equal(f->link.alias_count, LINK_ALIASES_MAX);
	assert_int_equal(remove_alias(f, "s20"), OK);
	rename_to(f, "s21");
	assert_int_equal(f->link.alias_count, LINK_ALIASES_MAX);
}

TEST_CASE(an_alias_ends_in_a_tombstone_and_the_link_stays)
{
	struct link_fixture *f = *state;
	link_fixture_make(f, "spring");
	rename_to(f, "summer");
	rename_to(f, "autumn");
	test_database_run(f->db, "TRUNCATE outbox");
	assert_int_equal(remove_alias(f, "Spring"), ERR_NOT_FOUND);
	assert_int_equal(remove_alias(f, "autumn"), ERR_NOT_FOUND);
	assert_int_equal(remove_alias(f, "spring"), OK);
	assert_aliases(f, (const char *const[]){ "summer" }, 1);
	assert_events(f, "autumn@4 summer<@4autumn -spring<@4autumn");
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM link_tombstones "
	                                          "WHERE slug = 'spring' AND version = 4 "
	                                          "AND last_state = 'ACTIVE'"),
	                 1);
}

static void assert_all_names_are_purged(struct link_fixture *f, const char *last_state)
{
	char sql[300];
	snprintf(
		sql, sizeof(sql),
		"SELECT count(*) FROM link_tombstones WHERE slug IN ('spring', 'summer', 'autumn') "
		"AND link_id = %d AND version = %d AND last_state = '%s'",
		(int)f->link.entry.id, (int)f->link.entry.version + 1, last_state);
	assert_int_equal(test_database_ask(f->db, sql), 3);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM link_aliases"), 0);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links"), 0);
}

static void make_three_names(struct link_fixture *f)
{
	link_fixture_make(f, "spring");
	rename_to(f, "summer");
	rename_to(f, "autumn");
	test_database_run(f->db, "TRUNCATE outbox");
}

TEST_CASE(a_purge_at_once_ends_all_names)
{
	struct link_fixture *f = *state;
	make_three_names(f);
	struct link link;
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(link_store_lock(f->api, f->link.entry.id, 1, &link), OK);
	assert_int_equal(link_store_purge(f->api, &link), OK);
	assert_int_equal(pg_conn_commit(f->api), OK);
	assert_int_equal(link.alias_count, 0);
	assert_all_names_are_purged(f, "ACTIVE");
	assert_events(f, "-autumn@4 -summer<@4autumn -spring<@4autumn");
}

TEST_CASE(the_janitor_expires_and_purges_all_names)
{
	struct link_fixture *f = *state;
	struct link_store_batch expired = { .limit = 10 }, purged = { .limit = 10 };
	make_three_names(f);
	test_database_run(f->db,
	                  "UPDATE links SET expires_at = clock_timestamp() - interval '1 s'");
	assert_int_equal(pg_conn_begin(f->janitor), OK);
	assert_int_equal(link_store_expire_batch(f->janitor, &expired), OK);
	assert_int_equal(pg_conn_commit(f->janitor), OK);
	assert_events(f, "autumn@4 summer<@4autumn spring<@4autumn");
	assert_int_equal(link_store_get(f->api, f->link.entry.id, 1, &f->link), OK);
	assert_int_equal(pg_conn_begin(f->janitor), OK);
	assert_int_equal(link_store_purge_batch(f->janitor, LINK_STORE_ENDED_EXPIRED,
	                                        &(struct link_store_keep){ 0 }, &purged),
	                 OK);
	assert_int_equal(pg_conn_commit(f->janitor), OK);
	assert_all_names_are_purged(f, "EXPIRED");
	assert_events(f, "-autumn@5 -summer<@5autumn -spring<@5autumn");
}

static void *purge_expired(void *ctx)
{
	struct link_fixture *f = ctx;
	struct link_store_batch batch = { .limit = 10 };
	for (int i = 0; batch.changed == 0 && i < 1000; i++) {
		batch.from_us = 0;
		assert_int_equal(pg_conn_begin(f->janitor), OK);
		assert_int_equal(link_store_purge_batch(f->janitor, LINK_STORE_ENDED_EXPIRED,
		                                        &(struct link_store_keep){ 0 }, &batch),
		                 OK);
		assert_int_equal(pg_conn_commit(f->janitor), OK);
	}
	return NULL;
}

/* The purge may have looked for links before the change of the slug commits. */
TEST_CASE(a_link_that_is_purged_while_its_slug_changes_leaves_no_name_free)
{
	struct link_fixture *f = *state;
	int renamed = 0;
	for (int i = 0; i < 60; i++) {
		pthread_t thread;
		char old[32], new[32], sql[400];
		snprintf(old, sizeof(old), "old-%d", i);
		snprintf(new, sizeof(new), "new-%d", i);
		link_fixture_make(f, old);
		snprintf(sql, sizeof(sql),
		         "UPDATE links SET state = 'EXPIRED', expires_at = now() WHERE slug = '%s'",
		         old);
		test_database_run(f->db, sql);
		assert_int_equal(pthread_create(&thread, NULL, purge_expired, f), 0);
		bool is_renamed = rename_as(f, new, false) == OK;
		pthread_join(thread, NULL);
		snprintf(sql, sizeof(sql),
		         "SELECT count(*) FROM link_tombstones WHERE slug IN ('%s', '%s')", old,
		         new);
		assert_int_equal(test_database_ask(f->db, sql), is_renamed ? 2 : 1);
		renamed += is_renamed;
	}
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM link_aliases"), 0);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links"), 0);
	assert_int_equal(test_database_ask(f->db, "SELECT count(DISTINCT slug) FROM outbox "
	                                          "WHERE priority = 2"),
	                 60 + renamed);
}

TEST_CASE(no_link_goes_without_its_aliases)
{
	struct link_fixture *f = *state;
	make_three_names(f);
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(pg_conn_query(f->api, "DELETE FROM links", NULL, NULL), OK);
	assert_int_equal(pg_conn_commit(f->api), ERR_CONFLICT);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links"), 1);
}

/* More than one statement takes. */
TEST_CASE(many_names_of_one_change_all_have_events_in_the_order_of_versions)
{
	struct link_fixture *f = *state;
	enum { LINKS = 60 };
	struct link *links = calloc(LINKS, sizeof(*links));
	enum link_change changes[LINKS];
	int64_t ids[LINKS];
	size_t locked;
	char slug[32];
	for (int i = 0; i < LINKS; i++) {
		snprintf(slug, sizeof(slug), "many-%d", i);
		link_fixture_make(f, slug);
		ids[i] = f->link.entry.id;
		changes[i] = LINK_CHANGE_UPDATED;
	}
	test_database_run(f->db,
	                  "INSERT INTO link_aliases (slug, slug_chosen, slug_exact, link_id) "
	                  "SELECT slug || '-' || n, true, false, id FROM links, "
	                  "generate_series(1, 20) AS n");
	test_database_run(f->db, "UPDATE links SET alias_count = 20");
	test_database_run(f->db, "TRUNCATE outbox");
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(link_write_lock(f->api, ids, LINKS, links, &locked), OK);
	assert_int_equal(link_write_update(f->api, links, changes, LINKS), OK);
	assert_int_equal(pg_conn_commit(f->api), OK);
	assert_int_equal(test_database_ask(f->db, "SELECT count(DISTINCT slug) FROM outbox"),
	                 LINKS * 21);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox"), LINKS * 21);
	free(links);
}

TEST_CASE(the_extras_of_a_link_go_to_the_caches_under_each_name)
{
	struct link_fixture *f = *state;
	make_three_names(f);
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(link_store_lock(f->api, f->link.entry.id, 1, &f->link), OK);
	f->link.entry.extras_len = 3;
	memcpy(f->link.entry.extras, "\x20\x01\x28", 3);
	assert_int_equal(link_fixture_update(f->api, &f->link, LINK_CHANGE_UPDATED), OK);
	assert_int_equal(pg_conn_commit(f->api), OK);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox "
	                                          "WHERE extras = '\\x200128'"),
	                 3);
}

TEST_MAIN(.group_set_up = link_fixture_set_up, .group_tear_down = link_fixture_tear_down,
          .set_up = link_fixture_empty)
