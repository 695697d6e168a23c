/* That of all who believe to own a partition one counts, and that a commit in doubt is cleared up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <pthread.h>

#include "lib/base/clock.h"
#include "tests/integration/analytics-consumer/owner.h"

/* Everything that counting may touch, as one number. */
static int64_t fingerprint(struct world *world)
{
	return test_database_ask(world->database,
	                         "SELECT hashtextextended(concat("
	                         "(SELECT string_agg(v::text, ';' ORDER BY v::text) FROM visit_log v),"
	                         "(SELECT string_agg(s::text, ';' ORDER BY link_id) FROM link_statistics s),"
	                         "(SELECT string_agg(r::text, ';' ORDER BY r::text) FROM visit_rollup_quarter r),"
	                         "(SELECT string_agg(r::text, ';' ORDER BY r::text) FROM visit_rollup_hour r),"
	                         "(SELECT string_agg(r::text, ';' ORDER BY r::text) FROM visit_rollup_day r),"
	                         "(SELECT string_agg(o::text, ';' ORDER BY o::text) FROM consumer_offsets o)), 0)");
}

static void changes_nothing_for_a_zombie(void **state)
{
	struct world *world = *state;
	struct owner owner, zombie;
	owner_open(&owner, world, 0);
	owner_take_clicks(&owner, 0, 0, 10);
	owner_take_clicks(&owner, 1, 0, 10);
	assert_int_equal(owner_store(&owner), OK);
	owner_go_on(&owner);
	owner_open(&zombie, world, 10);
	owner_take_clicks(&owner, 0, 10, 5);
	assert_int_equal(owner_store(&owner), OK);
	int64_t before = fingerprint(world);
	/* It holds clicks of a partition that has moved, and of one that has not. */
	owner_take_clicks(&zombie, 0, 10, 3);
	owner_take_clicks(&zombie, 1, 10, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(owner_store(&zombie), ERR_CONFLICT);
	assert_int_equal(fingerprint(world), before);
	owner_close(&zombie);
	owner_close(&owner);
}

static void lets_only_one_of_two_first_owners_count(void **state)
{
	struct world *world = *state;
	struct owner first, second;
	owner_open(&first, world, 0);
	owner_open(&second, world, 0);
	owner_take_clicks(&first, 0, 0, 10);
	owner_take_clicks(&second, 0, 0, 20);
	assert_int_equal(owner_store(&first), OK);
	int64_t before = fingerprint(world);
	assert_int_equal(owner_store(&second), ERR_CONFLICT);
	assert_int_equal(fingerprint(world), before);
	owner_close(&second);
	owner_close(&first);
}

static void finds_a_batch_in_doubt_that_was_stored(void **state)
{
	struct world *world = *state;
	struct owner owner;
	owner_open(&owner, world, 0);
	owner_take_clicks(&owner, 0, 0, 10);
	assert_int_equal(owner_store(&owner), OK);
	int64_t before = fingerprint(world);
	owner.batch.in_doubt = true;
	assert_int_equal(owner_store(&owner), OK);
	assert_false(owner.batch.in_doubt);
	assert_int_equal(fingerprint(world), before);
	owner_close(&owner);
}

static void stores_a_batch_in_doubt_that_was_not_stored(void **state)
{
	struct world *world = *state;
	struct owner owner;
	owner_open(&owner, world, 0);
	owner_take_clicks(&owner, 0, 0, 10);
	owner.batch.in_doubt = true;
	assert_int_equal(owner_store(&owner), OK);
	world_assert_books(world, 10);
	owner_close(&owner);
}

static void gives_a_batch_in_doubt_up_when_another_owner_has_begun(void **state)
{
	struct world *world = *state;
	struct owner owner, other;
	owner_open(&owner, world, 0);
	owner_open(&other, world, 0);
	owner_take_clicks(&owner, 0, 0, 10);
	owner_take_clicks(&other, 0, 0, 4);
	assert_int_equal(owner_store(&other), OK);
	owner.batch.in_doubt = true;
	assert_int_equal(owner_store(&owner), ERR_CONFLICT);
	world_assert_books(world, 4);
	owner_close(&other);
	owner_close(&owner);
}

static void *store_in_thread(void *arg)
{
	struct owner *owner = arg;
	return owner_store(owner) == OK ? owner : NULL;
}

/* The connection broke, the server has not noticed, and commits a moment later. */
static void waits_for_a_commit_that_is_still_on_its_way(void **state)
{
	struct world *world = *state;
	struct owner owner;
	owner_open(&owner, world, 0);
	owner_take_clicks(&owner, 0, 0, 10);
	assert_int_equal(owner_store(&owner), OK);
	owner_go_on(&owner);
	owner_take_clicks(&owner, 0, 10, 10);
	owner.batch.in_doubt = true;
	struct pg_conn *late = test_database_connect(world->database, "waymark_consumer");
	assert_int_equal(pg_conn_begin(late), OK);
	assert_int_equal(pg_conn_query_once(late, "UPDATE consumer_offsets SET next_offset = 20", NULL, NULL), OK);
	pthread_t thread;
	void *stored = NULL;
	assert_int_equal(pthread_create(&thread, NULL, store_in_thread, &owner), 0);
	test_database_await(world->database,
	                    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
	                    "AND datname = current_database()",
	                    1, WORLD_DEADLINE_MS);
	assert_int_equal(pg_conn_commit(late), OK);
	assert_int_equal(pthread_join(thread, &stored), 0);
	assert_ptr_equal(stored, &owner);
	/* The late commit of this test moved the offset and stored nothing: so nothing was stored. */
	world_assert_books(world, 10);
	pg_conn_close(late);
	owner_close(&owner);
}

/* Whoever waits for it cuts it off, after twice the statement timeout. */
static void goes_on_when_another_owner_is_frozen_while_it_sends_its_visits(void **state)
{
	struct world *world = *state;
	char url[TEST_DATABASE_URL_SIZE];
	/* One may cut off only one's own user's connections, which a role that was put on does not make one's own. */
	test_database_url(world->database, NULL, url);
	const struct pg_pool_config impatient = { .url = url,
		                                  .application_name = "test",
		                                  .max = 2,
		                                  .wait_ms = 5000,
		                                  .connect_timeout_ms = 5000,
		                                  .statement_timeout_ms = 400,
		                                  .clock = clock_system(),
		                                  .log = world->fixture->log };
	struct owner owner;
	world_close_pool(world);
	world->pool = pg_pool_new(&impatient);
	owner_open(&owner, world, 0);
	owner_take_clicks(&owner, 0, 0, 10);
	assert_int_equal(owner_store(&owner), OK);
	owner_go_on(&owner);
	struct pg_conn *frozen = NULL;
	assert_int_equal(pg_conn_open(url, "frozen", 5000, 5000, NULL, &frozen), OK);
	assert_int_equal(pg_conn_begin(frozen), OK);
	assert_int_equal(pg_conn_query_once(frozen, "UPDATE consumer_offsets SET next_offset = 20", NULL, NULL), OK);
	/* It is asked for rows, and never sends any. */
	assert_int_equal(pg_conn_query_once(frozen, "COPY visit_log FROM STDIN", NULL, NULL), ERR_INTERNAL);
	owner_take_clicks(&owner, 0, 10, 10);
	int waits = 0;
	enum err err = ERR_LIMIT;
	while (err == ERR_LIMIT && waits++ < 10)
		err = owner_store(&owner);
	assert_int_equal(err, OK);
	assert_in_range(waits, 2, 5);
	world_assert_books(world, 20);
	owner_close(&owner);
	pg_conn_close(frozen);
	world_close_pool(world);
}

int main(void)
{
#define IN_A_NEW_WORLD(test) cmocka_unit_test_setup_teardown(test, world_reset, NULL)
	const struct CMUnitTest tests[] = {
		IN_A_NEW_WORLD(changes_nothing_for_a_zombie),
		IN_A_NEW_WORLD(lets_only_one_of_two_first_owners_count),
		IN_A_NEW_WORLD(finds_a_batch_in_doubt_that_was_stored),
		IN_A_NEW_WORLD(stores_a_batch_in_doubt_that_was_not_stored),
		IN_A_NEW_WORLD(gives_a_batch_in_doubt_up_when_another_owner_has_begun),
		IN_A_NEW_WORLD(waits_for_a_commit_that_is_still_on_its_way),
		IN_A_NEW_WORLD(goes_on_when_another_owner_is_frozen_while_it_sends_its_visits),
	};
	return cmocka_run_group_tests(tests, world_open, world_close);
}
