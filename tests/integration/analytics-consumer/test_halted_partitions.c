/*
 * The next offset no longer exists, or another record is there. Nothing is skipped silently: the
 * partition is halted.
 */
#include <stdint.h>
#include <stdio.h>

#include "tests/integration/analytics-consumer/consumer_fixture.h"
#include "tests/integration/kafka/kafka_fixture.h"
#include "tests/support/test.h"

#define COUNT_HALTED "SELECT count(*) FROM consumer_offsets WHERE halted_at IS NOT NULL"

static void count_clicks(struct consumer_fixture *fixture, int count)
{
	consumer_fixture_produce_clicks(fixture, count);
	struct ingest *ingest = consumer_fixture_start(fixture);
	consumer_fixture_await_counted(fixture, count);
	consumer_fixture_stop(fixture, ingest);
}

/* To the consumer it looks like the same topic: name and stored offsets are unchanged. */
static void recreate_topic(struct consumer_fixture *fixture)
{
	char sql[256];
	snprintf(fixture->redirects, sizeof(fixture->redirects), "%s.recreated",
	         fixture->backend->unique);
	consumer_fixture_create_topics(fixture);
	snprintf(sql, sizeof(sql), "UPDATE consumer_offsets SET topic = '%s'", fixture->redirects);
	test_database_run(fixture->database, sql);
}

static void resume(struct consumer_fixture *fixture, const char *which)
{
	char sql[256];
	snprintf(
		sql, sizeof(sql),
		"SELECT consumer_offsets_resume(topic, partition, 0) FROM consumer_offsets WHERE %s",
		which);
	test_database_run(fixture->database, sql);
}

static bool is_halted(void *ctx)
{
	return !ingest_has_no_halted_partition(ctx);
}

static bool has_logged_reason(struct consumer_fixture *fixture, const char *reason)
{
	char text[64];
	snprintf(text, sizeof(text), "\"reason\":\"%s\",\"first_offset\":", reason);
	return backend_fixture_logged(fixture->backend, text) > 0;
}

TEST_CASE(halts_a_partition_whose_next_offset_does_not_exist)
{
	struct consumer_fixture *fixture = *state;
	count_clicks(fixture, 200);
	/* As if the topic had been recreated, or had lost its end. */
	test_database_run(fixture->database,
	                  "UPDATE consumer_offsets SET next_offset = next_offset + 1000000, "
	                  "published_offset = next_offset + 999990 WHERE partition = 2");
	struct ingest *ingest = consumer_fixture_start(fixture);
	backend_fixture_wait(is_halted, ingest, CONSUMER_FIXTURE_DEADLINE_MS);
	assert_true(has_logged_reason(fixture, "topic_ends_before"));
	int64_t before = consumer_fixture_ask(
		fixture, "SELECT next_offset FROM consumer_offsets WHERE partition = 2");
	/* The other partitions continue, and nothing of this one is skipped. */
	consumer_fixture_produce_clicks(fixture, 200);
	consumer_fixture_await(
		fixture,
		"SELECT (sum(visit_count) > 200)::int FROM link_statistics WHERE link_id > 0", 1);
	consumer_fixture_await(fixture, COUNT_HALTED, 1);
	assert_int_equal(
		consumer_fixture_ask(
			fixture, "SELECT next_offset FROM consumer_offsets WHERE partition = 2"),
		before);
	consumer_fixture_stop(fixture, ingest);
	assert_in_range(consumer_fixture_counted(fixture), 201, 399);
	/* An operator decides to continue with what the topic has. */
	resume(fixture, "partition = 2");
	ingest = consumer_fixture_start(fixture);
	consumer_fixture_await_counted(fixture, 400);
	assert_true(ingest_has_no_halted_partition(ingest));
	consumer_fixture_stop(fixture, ingest);
	consumer_fixture_assert_ledger(fixture, 400);
}

/* The new topic is already longer than the old one. Only the records reveal it. */
TEST_CASE(counts_nothing_of_a_recreated_topic_that_is_longer_than_the_old_one)
{
	struct consumer_fixture *fixture = *state;
	count_clicks(fixture, 200);
	recreate_topic(fixture);
	consumer_fixture_produce_clicks(fixture, 600);
	/* The records that should be published again are gone too. */
	test_database_run(fixture->database,
	                  "UPDATE consumer_offsets SET published_offset = 1 WHERE partition = 2");
	struct ingest *ingest = consumer_fixture_start(fixture);
	consumer_fixture_await(fixture, COUNT_HALTED, CONSUMER_FIXTURE_PARTITIONS);
	assert_true(has_logged_reason(fixture, "another_record"));
	assert_int_equal(consumer_fixture_counted(fixture), 200);
	consumer_fixture_stop(fixture, ingest);
	/* It stays halted after a restart. */
	int logged = backend_fixture_logged(fixture->backend, "\"partition_halted\"");
	ingest = consumer_fixture_start(fixture);
	backend_fixture_wait(is_halted, ingest, CONSUMER_FIXTURE_DEADLINE_MS);
	assert_int_equal(backend_fixture_logged(fixture->backend, "\"partition_halted\""),
	                 logged + CONSUMER_FIXTURE_PARTITIONS);
	consumer_fixture_stop(fixture, ingest);
	consumer_fixture_assert_ledger(fixture, 200);
	resume(fixture, "true");
	ingest = consumer_fixture_start(fixture);
	consumer_fixture_await_counted(fixture, 800);
	consumer_fixture_stop(fixture, ingest);
	consumer_fixture_assert_ledger(fixture, 800);
}

/* Retention has removed every counted record and nothing else. */
TEST_CASE(continues_when_retention_removed_only_counted_records)
{
	struct consumer_fixture *fixture = *state;
	count_clicks(fixture, 200);
	int64_t next = consumer_fixture_ask(
		fixture, "SELECT next_offset FROM consumer_offsets WHERE partition = 1");
	kafka_fixture_delete_before(fixture->backend, fixture->redirects, 1, next);
	struct ingest *ingest = consumer_fixture_start(fixture);
	consumer_fixture_produce_clicks(fixture, 100);
	consumer_fixture_await_counted(fixture, 300);
	consumer_fixture_stop(fixture, ingest);
	assert_int_equal(consumer_fixture_ask(fixture, COUNT_HALTED), 0);
	assert_int_equal(backend_fixture_logged(fixture->backend, "\"partition_halted\""), 0);
	consumer_fixture_assert_ledger(fixture, 300);
}

TEST_CASE(halts_when_retention_removed_records_that_were_not_counted)
{
	struct consumer_fixture *fixture = *state;
	count_clicks(fixture, 200);
	consumer_fixture_produce_clicks(fixture, 200);
	int64_t next = consumer_fixture_ask(
		fixture, "SELECT next_offset FROM consumer_offsets WHERE partition = 1");
	kafka_fixture_delete_before(fixture->backend, fixture->redirects, 1, next + 3);
	struct ingest *ingest = consumer_fixture_start(fixture);
	consumer_fixture_await(fixture, COUNT_HALTED, 1);
	assert_true(has_logged_reason(fixture, "removed_by_retention"));
	assert_int_equal(
		consumer_fixture_ask(
			fixture, "SELECT next_offset FROM consumer_offsets WHERE partition = 1"),
		next);
	consumer_fixture_stop(fixture, ingest);
	resume(fixture, "partition = 1");
	ingest = consumer_fixture_start(fixture);
	consumer_fixture_await_counted(fixture, 397);
	consumer_fixture_stop(fixture, ingest);
	consumer_fixture_assert_ledger(fixture, 397);
}

/*
 * Retention removed clicks whose visits were to be published again. Integrations lose these visits,
 * which is logged, and counting continues.
 */
TEST_CASE(continues_and_logs_when_clicks_to_publish_again_are_gone)
{
	struct consumer_fixture *fixture = *state;
	count_clicks(fixture, 300);
	int64_t next = consumer_fixture_ask(
		fixture, "SELECT next_offset FROM consumer_offsets WHERE partition = 1");
	assert_true(next > 10);
	test_database_run(fixture->database,
	                  "UPDATE consumer_offsets SET published_offset = 3 WHERE partition = 1");
	kafka_fixture_delete_before(fixture->backend, fixture->redirects, 1, next - 2);
	struct ingest *ingest = consumer_fixture_start(fixture);
	consumer_fixture_produce_clicks(fixture, 60);
	consumer_fixture_await_counted(fixture, 360);
	assert_true(backend_fixture_logged(fixture->backend,
	                                   "\"visits_cannot_be_published_again\"") > 0);
	assert_int_equal(backend_fixture_logged(fixture->backend, "\"partition_halted\""), 0);
	assert_true(ingest_has_no_halted_partition(ingest));
	consumer_fixture_await(
		fixture,
		"SELECT (published_offset = next_offset)::int FROM consumer_offsets WHERE partition = 1",
		1);
	consumer_fixture_stop(fixture, ingest);
	consumer_fixture_assert_ledger(fixture, 360);
}

/* --- within a record --- */

/* Four events of a record with ten are counted. */
static void count_part(struct consumer_fixture *fixture)
{
	consumer_fixture_produce_record(fixture, 1, 10);
	consumer_fixture_count_part(fixture, 4);
	test_database_run(fixture->database,
	                  "UPDATE consumer_offsets SET published_index = next_index");
	assert_int_equal(consumer_fixture_counted(fixture), 4);
}

static void await_halt(struct consumer_fixture *fixture, const char *reason)
{
	struct ingest *ingest = consumer_fixture_start(fixture);
	consumer_fixture_await(fixture, COUNT_HALTED, 1);
	assert_true(has_logged_reason(fixture, reason));
	consumer_fixture_stop(fixture, ingest);
	assert_int_equal(
		consumer_fixture_ask(fixture, "SELECT max(next_index) FROM consumer_offsets"), 4);
	consumer_fixture_assert_ledger(fixture, 4);
}

static void resume_and_count(struct consumer_fixture *fixture, int64_t counted)
{
	resume(fixture, "halted_at IS NOT NULL");
	struct ingest *ingest = consumer_fixture_start(fixture);
	consumer_fixture_await_counted(fixture, counted);
	consumer_fixture_stop(fixture, ingest);
	consumer_fixture_assert_ledger(fixture, counted);
}

TEST_CASE(halts_within_a_record_in_whose_place_there_is_another)
{
	struct consumer_fixture *fixture = *state;
	count_part(fixture);
	recreate_topic(fixture);
	consumer_fixture_produce_record(fixture, 1, 20);
	await_halt(fixture, "another_record");
	/* Of the other record all events are counted, although some of the old one were. */
	resume_and_count(fixture, 24);
}

TEST_CASE(halts_within_a_record_that_is_lost)
{
	struct consumer_fixture *fixture = *state;
	count_part(fixture);
	recreate_topic(fixture);
	await_halt(fixture, "topic_ends_before");
}

TEST_CASE(halts_within_a_record_that_retention_removed)
{
	struct consumer_fixture *fixture = *state;
	count_part(fixture);
	consumer_fixture_produce_record(fixture, 1, 10);
	int64_t partition = consumer_fixture_ask(
		fixture, "SELECT partition FROM consumer_offsets WHERE next_index > 0");
	kafka_fixture_delete_before(fixture->backend, fixture->redirects, (int32_t)partition, 1);
	await_halt(fixture, "removed_by_retention");
	resume_and_count(fixture, 14);
}

/* It begins with the whole record again. Its first events are dropped by their ids. */
TEST_CASE(counts_once_the_record_in_which_it_was_halted)
{
	struct consumer_fixture *fixture = *state;
	count_part(fixture);
	test_database_run(fixture->database,
	                  "UPDATE consumer_offsets SET halted_at = now() WHERE next_index > 0");
	resume_and_count(fixture, 10);
}

TEST_CASE(refuses_to_resume_at_an_offset_that_no_topic_has)
{
	struct consumer_fixture *fixture = *state;
	struct pg_conn *conn = test_database_connect(fixture->database, NULL);
	test_database_run(fixture->database,
	                  "INSERT INTO consumer_offsets (topic, partition, next_offset, halted_at) "
	                  "VALUES ('redirects', 0, 5, now())");
	assert_int_equal(pg_conn_query_once(
				 conn,
				 "SELECT consumer_offsets_resume('redirects', 0, 9007199254740992)",
				 NULL, NULL),
	                 ERR_INVALID);
	pg_conn_close(conn);
	assert_int_equal(consumer_fixture_ask(fixture, COUNT_HALTED), 1);
}

TEST_MAIN(.set_up = consumer_fixture_open, .tear_down = consumer_fixture_close)
