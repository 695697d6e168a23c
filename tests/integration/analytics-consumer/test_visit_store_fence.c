/*
 * Of all consumers that consider themselves the owner of a partition, only one counts. Commits in
 * doubt are resolved.
 */
#include <pthread.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "tests/integration/analytics-consumer/partition_owner.h"
#include "tests/support/test.h"

/* A hash over everything that counting may change. */
static int64_t hash_of_tables(struct consumer_fixture *fixture)
{
	return test_database_ask(
		fixture->database,
		"SELECT hashtextextended(concat("
		"(SELECT string_agg(v::text, ';' ORDER BY v::text) FROM visit_log v),"
		"(SELECT string_agg(s::text, ';' ORDER BY link_id) FROM link_statistics s),"
		"(SELECT string_agg(r::text, ';' ORDER BY r::text) FROM rollup_delta r),"
		"(SELECT string_agg(r::text, ';' ORDER BY r::text) FROM rollup_hour r),"
		"(SELECT string_agg(r::text, ';' ORDER BY r::text) FROM rollup_day r),"
		"(SELECT string_agg(o::text, ';' ORDER BY o::text) FROM consumer_offsets o)), 0)");
}

TEST_CASE(changes_nothing_for_a_zombie)
{
	struct consumer_fixture *fixture = *state;
	struct partition_owner owner, zombie;
	partition_owner_open(&owner, fixture, 0);
	partition_owner_add_clicks(&owner, 0, 0, 10);
	partition_owner_add_clicks(&owner, 1, 0, 10);
	assert_int_equal(partition_owner_store(&owner), OK);
	partition_owner_begin_batch(&owner);
	partition_owner_open(&zombie, fixture, 10);
	partition_owner_add_clicks(&owner, 0, 10, 5);
	assert_int_equal(partition_owner_store(&owner), OK);
	int64_t before = hash_of_tables(fixture);
	/* Its batch has clicks of a partition that has advanced and of one that has not. */
	partition_owner_add_clicks(&zombie, 0, 10, 3);
	partition_owner_add_clicks(&zombie, 1, 10, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(partition_owner_store(&zombie), ERR_CONFLICT);
	assert_int_equal(hash_of_tables(fixture), before);
	partition_owner_close(&zombie);
	partition_owner_close(&owner);
}

/* Two owners of a batch of four of a record with ten clicks. */
static void open_within_a_record(struct consumer_fixture *fixture, struct partition_owner *first,
                                 struct partition_owner *second)
{
	struct partition_owner *const owners[] = { first, second };
	struct redirect_event clicks[10];
	for (size_t i = 0; i < 10; i++)
		clicks[i] = consumer_fixture_click(1 + (int64_t)i, (uint32_t)i);
	for (size_t i = 0; i < 2; i++) {
		partition_owner_open(owners[i], fixture, 7);
		owners[i]->batch.visits_max = 4;
	}
	test_database_run(fixture->database,
	                  "UPDATE consumer_offsets SET next_offset = 7, published_offset = 7");
	for (size_t i = 0; i < 2; i++)
		partition_owner_add_record(owners[i], 0, 7, clicks, 10);
}

/* The offset is the same before and after the batch. The index decides. */
TEST_CASE(changes_nothing_for_a_zombie_within_a_record)
{
	struct consumer_fixture *fixture = *state;
	struct partition_owner owner, zombie;
	open_within_a_record(fixture, &owner, &zombie);
	assert_int_equal(partition_owner_store(&owner), OK);
	int64_t before = hash_of_tables(fixture);
	assert_int_equal(partition_owner_store(&zombie), ERR_CONFLICT);
	/* Nor may it halt the partition or mark its visits as published. */
	struct pg_conn *conn = test_database_connect(fixture->database, "waymark_consumer");
	struct offsets_partition *p = offsets_find(&zombie.offsets, 0);
	p->halt_reason = OFFSETS_ANOTHER_RECORD;
	assert_int_equal(offsets_halt(conn, "redirects", p), OK);
	p->halt_reason = OFFSETS_NOT_HALTED;
	assert_int_equal(offsets_store_published(conn, "redirects", &zombie.offsets, 0), OK);
	pg_conn_close(conn);
	assert_int_equal(hash_of_tables(fixture), before);
	partition_owner_close(&zombie);
	partition_owner_close(&owner);
}

TEST_CASE(finds_out_what_became_of_a_batch_in_doubt)
{
	struct consumer_fixture *fixture = *state;
	struct partition_owner owner, other;
	open_within_a_record(fixture, &owner, &other);
	owner.batch.in_doubt = true;
	assert_int_equal(partition_owner_store(&owner), OK);
	consumer_fixture_assert_ledger(fixture, 4);
	int64_t before = hash_of_tables(fixture);
	owner.batch.in_doubt = true;
	assert_int_equal(partition_owner_store(&owner), OK);
	assert_false(owner.batch.in_doubt);
	assert_int_equal(hash_of_tables(fixture), before);
	partition_owner_begin_batch(&owner);
	partition_owner_continue(&owner);
	assert_int_equal(partition_owner_store(&owner), OK);
	/* As far as the other knows, its batch of the first four is not stored. */
	other.batch.in_doubt = true;
	assert_int_equal(partition_owner_store(&other), ERR_CONFLICT);
	consumer_fixture_assert_ledger(fixture, 8);
	partition_owner_close(&other);
	partition_owner_close(&owner);
}

TEST_CASE(halts_a_partition_within_a_record)
{
	struct consumer_fixture *fixture = *state;
	struct partition_owner owner, other;
	open_within_a_record(fixture, &owner, &other);
	assert_int_equal(partition_owner_store(&owner), OK);
	partition_owner_begin_batch(&owner);
	struct pg_conn *conn = test_database_connect(fixture->database, "waymark_consumer");
	struct offsets_partition *p = offsets_find(&owner.offsets, 0);
	p->halt_reason = OFFSETS_ANOTHER_RECORD;
	assert_int_equal(offsets_halt(conn, "redirects", p), OK);
	pg_conn_close(conn);
	assert_int_equal(test_database_ask(fixture->database,
	                                   "SELECT count(*) FROM consumer_offsets "
	                                   "WHERE halted_at IS NOT NULL"),
	                 1);
	partition_owner_continue(&owner);
	assert_int_equal(partition_owner_store(&owner), ERR_CONFLICT);
	consumer_fixture_assert_ledger(fixture, 4);
	partition_owner_close(&other);
	partition_owner_close(&owner);
}

TEST_CASE(lets_only_one_of_two_new_owners_count)
{
	struct consumer_fixture *fixture = *state;
	struct partition_owner first, second;
	partition_owner_open(&first, fixture, 0);
	partition_owner_open(&second, fixture, 0);
	partition_owner_add_clicks(&first, 0, 0, 10);
	partition_owner_add_clicks(&second, 0, 0, 20);
	assert_int_equal(partition_owner_store(&first), OK);
	int64_t before = hash_of_tables(fixture);
	assert_int_equal(partition_owner_store(&second), ERR_CONFLICT);
	assert_int_equal(hash_of_tables(fixture), before);
	partition_owner_close(&second);
	partition_owner_close(&first);
}

static void *store_in_thread(void *arg)
{
	struct partition_owner *owner = arg;
	return partition_owner_store(owner) == OK ? owner : NULL;
}

/* The connection broke, but the server has not noticed and commits a moment later. */
TEST_CASE(waits_for_a_commit_that_is_still_running)
{
	struct consumer_fixture *fixture = *state;
	struct partition_owner owner;
	partition_owner_open(&owner, fixture, 0);
	partition_owner_add_clicks(&owner, 0, 0, 10);
	assert_int_equal(partition_owner_store(&owner), OK);
	partition_owner_begin_batch(&owner);
	partition_owner_add_clicks(&owner, 0, 10, 10);
	owner.batch.in_doubt = true;
	struct pg_conn *late = test_database_connect(fixture->database, "waymark_consumer");
	assert_int_equal(pg_conn_begin(late), OK);
	assert_int_equal(pg_conn_query_once(late, "UPDATE consumer_offsets SET next_offset = 20",
	                                    NULL, NULL),
	                 OK);
	pthread_t thread;
	void *stored = NULL;
	assert_int_equal(pthread_create(&thread, NULL, store_in_thread, &owner), 0);
	test_database_await(fixture->database,
	                    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
	                    "AND datname = current_database()",
	                    1, CONSUMER_FIXTURE_DEADLINE_MS);
	assert_int_equal(pg_conn_commit(late), OK);
	assert_int_equal(pthread_join(thread, &stored), 0);
	assert_ptr_equal(stored, &owner);
	/*
	 * The late commit of this test advances the offset without any visits, so the second batch
	 * is not counted.
	 */
	consumer_fixture_assert_ledger(fixture, 10);
	pg_conn_close(late);
	partition_owner_close(&owner);
}

/* A waiting consumer terminates the frozen one after twice the statement timeout. */
TEST_CASE(continues_when_another_owner_freezes_while_it_sends_visits)
{
	struct consumer_fixture *fixture = *state;
	char url[TEST_DATABASE_URL_SIZE];
	/*
	 * A user may terminate only its own connections. A role set with SET ROLE does not count.
	 */
	test_database_url(fixture->database, NULL, url);
	const struct pg_pool_config short_timeout = { .url = url,
		                                      .application_name = "test",
		                                      .max = 2,
		                                      .wait_ms = 5000,
		                                      .connect_timeout_ms = 5000,
		                                      .statement_timeout_ms = 1000,
		                                      .clock = clock_system(),
		                                      .log = fixture->backend->log };
	struct partition_owner owner;
	consumer_fixture_close_pool(fixture);
	fixture->pool = pg_pool_new(&short_timeout);
	partition_owner_open(&owner, fixture, 0);
	partition_owner_add_clicks(&owner, 0, 0, 10);
	assert_int_equal(partition_owner_store(&owner), OK);
	partition_owner_begin_batch(&owner);
	struct pg_conn *frozen = NULL;
	assert_int_equal(pg_conn_open(url, "test", 5000, 5000, NULL, &frozen), OK);
	assert_int_equal(pg_conn_begin(frozen), OK);
	assert_int_equal(pg_conn_query_once(frozen, "UPDATE consumer_offsets SET next_offset = 20",
	                                    NULL, NULL),
	                 OK);
	/* The server waits for rows that never come. */
	assert_int_equal(pg_conn_query_once(frozen, "COPY visit_log FROM STDIN", NULL, NULL),
	                 ERR_INTERNAL);
	partition_owner_add_clicks(&owner, 0, 10, 10);
	int waits = 0;
	enum err err = ERR_LIMIT;
	while (err == ERR_LIMIT && waits++ < 10)
		err = partition_owner_store(&owner);
	assert_int_equal(err, OK);
	assert_in_range(waits, 2, 5);
	consumer_fixture_assert_ledger(fixture, 20);
	partition_owner_close(&owner);
	pg_conn_close(frozen);
	consumer_fixture_close_pool(fixture);
}

TEST_MAIN(.group_set_up = consumer_fixture_open, .group_tear_down = consumer_fixture_close,
          .set_up = consumer_fixture_reset)
