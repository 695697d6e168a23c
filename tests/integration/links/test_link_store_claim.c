#include <stdint.h>
#include <stdlib.h>

#include "lib/links/link_store.h"
#include "tests/integration/links/link_fixture.h"
#include "tests/support/test.h"

#define LATER_US INT64_C(4102444800000000)

static const uint8_t token[DIGEST_SIZE] = { 1, 2, 3 }, other_token[DIGEST_SIZE] = { 1, 2, 4 };

static void create_anonymous(struct link_fixture *f, const char *slug)
{
	struct link_write_new new_link = link_fixture_plain(slug);
	new_link.workspace_id = 0;
	new_link.expires_at_us = LATER_US;
	new_link.claim_token_hash = token;
	assert_int_equal(link_fixture_create(f->api, &new_link, &f->link), OK);
}

TEST_CASE(claiming_makes_the_link_permanent)
{
	struct link_fixture *f = *state;
	create_anonymous(f, "claimed");
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(link_store_lock_by_claim_token(f->api, "claimed", token, &f->link), OK);
	assert_int_equal(f->link.workspace_id, 0);
	assert_int_equal(link_store_claim(f->api, &f->link, 2), OK);
	assert_int_equal(pg_conn_commit(f->api), OK);
	assert_int_equal(link_store_get(f->api, f->link.entry.id, 2, &f->other), OK);
	assert_int_equal(f->other.type, LINK_TYPE_PERMANENT);
	assert_int_equal(f->other.entry.expires_at_us, 0);
	assert_int_equal(f->other.entry.version, 2);
	struct link_event *event = link_fixture_recorded(f, 1);
	assert_int_equal(event->change, LINK_CHANGE_CLAIMED);
	assert_int_equal(event->link.workspace_id, 2);
	free(event);
}

TEST_CASE(a_repeated_claim_finds_the_owner)
{
	struct link_fixture *f = *state;
	create_anonymous(f, "again");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pg_conn_begin(f->api), OK);
		assert_int_equal(link_store_lock_by_claim_token(f->api, "again", token, &f->link),
		                 OK);
		assert_int_equal(f->link.workspace_id, i == 0 ? 0 : 2);
		assert_int_equal(link_store_claim(f->api, &f->link, 2), i == 0 ? OK : ERR_CONFLICT);
		assert_int_equal(pg_conn_commit(f->api), OK);
	}
	assert_int_equal(test_database_ask(f->db, "SELECT version FROM links WHERE slug = 'again'"),
	                 2);
}

TEST_CASE(finds_no_link_by_another_token_or_without_one)
{
	struct link_fixture *f = *state;
	create_anonymous(f, "theirs");
	link_fixture_make(f, "owned");
	assert_int_equal(link_store_lock_by_claim_token(f->api, "theirs", other_token, &f->link),
	                 ERR_NOT_FOUND);
	assert_int_equal(link_store_lock_by_claim_token(f->api, "Theirs", token, &f->link),
	                 ERR_NOT_FOUND);
	assert_int_equal(link_store_lock_by_claim_token(f->api, "owned", token, &f->link),
	                 ERR_NOT_FOUND);
}

/* --- immediate purges --- */

TEST_CASE(an_immediate_purge_leaves_a_tombstone_and_an_urgent_event)
{
	struct link_fixture *f = *state;
	link_fixture_make(f, "gone");
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(link_store_lock(f->api, f->link.entry.id, 1, &f->link), OK);
	f->other = f->link;
	assert_int_equal(link_store_purge(f->api, &f->link), OK);
	assert_int_equal(link_store_purge(f->api, &f->other), ERR_CONFLICT);
	assert_int_equal(pg_conn_commit(f->api), OK);
	assert_int_equal(f->link.entry.state, LINK_STATE_DELETED);
	assert_int_equal(f->link.entry.version, 2);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links"), 0);
	assert_int_equal(
		test_database_ask(
			f->db,
			"SELECT count(*) FROM link_tombstones WHERE slug = 'gone' AND version = 2 "
			"AND last_state = 'ACTIVE'"),
		1);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox WHERE priority = 0"),
	                 2);
	struct link_event *event = link_fixture_recorded(f, 1);
	assert_int_equal(event->change, LINK_CHANGE_PURGED);
	assert_int_equal(event->link.entry.version, 2);
	free(event);
	struct link_write_new again = link_fixture_plain("gone");
	assert_int_equal(link_fixture_create(f->api, &again, &f->link), ERR_CONFLICT);
}

TEST_MAIN(.group_set_up = link_fixture_set_up, .group_tear_down = link_fixture_tear_down,
          .set_up = link_fixture_empty)
