#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <stdlib.h>

#include "lib/links/link_closing_store.h"
#include "tests/integration/links/link_fixture.h"

/* One step in a transaction of its own. */
static struct link_closing_step take_step(struct link_fixture *f, struct link_closing_walk *walk)
{
	struct link_closing_step step;
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(link_closing_store_step(f->api, walk, &step), OK);
	assert_int_equal(pg_conn_commit(f->api), OK);
	return step;
}

static void deletes_what_is_not_deleted_as_its_owner_would(void **state)
{
	struct link_fixture *f = *state;
	struct link_closing_walk walk = { .owner_id = 1 };
	link_fixture_make(f, "closing-active");
	int64_t active = f->link.entry.id;
	link_fixture_make(f, "closing-disabled");
	link_fixture_change(f, f->link.entry.id, LINK_STATE_DISABLED, LINK_CHANGE_DISABLED);
	int64_t disabled = f->link.entry.id;
	link_fixture_make(f, "closing-gone");
	link_fixture_change(f, f->link.entry.id, LINK_STATE_DELETED, LINK_CHANGE_DELETED);
	int64_t gone = f->link.entry.id;
	struct link_store_new foreign = link_fixture_plain("closing-foreign");
	foreign.owner_id = 2;
	assert_int_equal(link_fixture_create(f->api, &foreign, &f->link), OK);
	test_database_run(f->db, "TRUNCATE outbox");

	struct link_closing_step step = take_step(f, &walk);
	assert_int_equal(step.count, 2);
	assert_true(walk.is_over);
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
	assert_string_equal(event->link.entry.slug, step.last_slug);
	free(event);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox WHERE patience = 0"), 2);
}

static void walks_in_steps_past_what_is_deleted_already(void **state)
{
	struct link_fixture *f = *state;
	struct link_closing_walk walk = { .owner_id = 1 };
	/* All of one moment: the order needs their ids. */
	test_database_run(f->db,
	                  "INSERT INTO links (slug, link_type, original_url, owner_id, created_at, state) "
	                  "SELECT 'many-' || n, 'PERMANENT', 'https://example.com/', 1, '2026-01-01', "
	                  "CASE WHEN n > 600 THEN 'ACTIVE' ELSE 'DELETED' END FROM generate_series(1, 1100) AS n");
	assert_int_equal(take_step(f, &walk).count, 0);
	assert_int_equal(take_step(f, &walk).count, 400);
	assert_false(walk.is_over);
	assert_int_equal(take_step(f, &walk).count, 100);
	assert_true(walk.is_over);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links WHERE state <> 'DELETED'"), 0);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox"), 500);
}

/* Or the deletion would overtake it on the topic. */
static void takes_a_mark_of_the_janitor_along_that_still_waits(void **state)
{
	struct link_fixture *f = *state;
	struct link_closing_walk walk = { .owner_id = 1 };
	link_fixture_make(f, "closing-marked");
	test_database_run(f->db, "UPDATE outbox SET patience = 1");
	assert_int_equal(take_step(f, &walk).count, 1);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox WHERE patience = 0"), 2);
}

static void leaves_nothing_behind_when_it_is_rolled_back(void **state)
{
	struct link_fixture *f = *state;
	struct link_closing_walk walk = { .owner_id = 1 };
	struct link_closing_step step;
	link_fixture_make(f, "closing-undone");
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(link_closing_store_step(f->api, &walk, &step), OK);
	pg_conn_rollback(f->api);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links WHERE state = 'DELETED'"), 0);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox"), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, link_fixture_empty)
	const struct CMUnitTest tests[] = {
		TEST(deletes_what_is_not_deleted_as_its_owner_would),
		TEST(walks_in_steps_past_what_is_deleted_already),
		TEST(takes_a_mark_of_the_janitor_along_that_still_waits),
		TEST(leaves_nothing_behind_when_it_is_rolled_back),
	};
	return cmocka_run_group_tests(tests, link_fixture_set_up, link_fixture_tear_down);
}
