/*
 * Records with more events than a transaction takes. A consumer stops, dies or is fenced within a
 * record; the next owner continues with its next event.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/integration/analytics-consumer/consumer_fixture.h"
#include "tests/support/test.h"

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct consumer_fixture_record *)a)->id,
	              ((const struct consumer_fixture_record *)b)->id);
}

/* Reads so many visits, which must be all. Returns how many of them are repeats. */
static size_t read_visits(struct consumer_fixture *fixture, size_t count)
{
	size_t repeats = 0;
	assert_int_equal(consumer_fixture_read(fixture, fixture->visits, count), count);
	qsort(fixture->records, count, sizeof(*fixture->records), by_id);
	for (size_t i = 1; i < count; i++)
		repeats += strcmp(fixture->records[i - 1].id, fixture->records[i].id) == 0;
	return repeats;
}

TEST_CASE(counts_records_that_are_longer_than_a_transaction)
{
	struct consumer_fixture *fixture = *state;
	fixture->config.batch_events = 7;
	struct ingest *ingest = consumer_fixture_start(fixture);
	for (int i = 0; i < 6; i++)
		consumer_fixture_produce_record(fixture, 1 + i, 100);
	consumer_fixture_await_counted(fixture, 600);
	assert_int_equal(consumer_fixture_ask(
				 fixture, "SELECT sum(next_index)::bigint FROM consumer_offsets"),
	                 0);
	assert_int_equal(read_visits(fixture, 600), 0);
	consumer_fixture_stop(fixture, ingest);
	consumer_fixture_assert_ledger(fixture, 600);
}

TEST_CASE(continues_within_the_record_where_it_stopped)
{
	struct consumer_fixture *fixture = *state;
	fixture->config.batch_events = 3;
	for (int i = 0; i < 3; i++) {
		consumer_fixture_produce_record(fixture, 1 + i, 200);
		struct ingest *ingest = consumer_fixture_start(fixture);
		consumer_fixture_await(
			fixture, "SELECT (sum(next_index) > 0)::int FROM consumer_offsets", 1);
		consumer_fixture_stop(fixture, ingest);
		/* After an orderly shutdown nothing has to be published again. */
		assert_int_equal(
			consumer_fixture_ask(
				fixture,
				"SELECT count(*) FROM consumer_offsets WHERE "
				"(published_offset, published_index) <> (next_offset, next_index)"),
			0);
	}
	struct ingest *last = consumer_fixture_start(fixture);
	consumer_fixture_await_counted(fixture, 600);
	assert_int_equal(read_visits(fixture, 600), 0);
	consumer_fixture_stop(fixture, last);
	consumer_fixture_assert_ledger(fixture, 600);
}

/* The owner dies after it has counted four events of ten, and has published two of them. */
TEST_CASE(publishes_again_what_may_be_unpublished_of_a_record)
{
	struct consumer_fixture *fixture = *state;
	consumer_fixture_produce_record(fixture, 1, 10);
	consumer_fixture_count_part(fixture, 4);
	consumer_fixture_assert_ledger(fixture, 4);
	test_database_run(fixture->database,
	                  "UPDATE consumer_offsets SET published_index = 2 WHERE next_index > 0");
	struct ingest *ingest = consumer_fixture_start(fixture);
	consumer_fixture_await_counted(fixture, 10);
	assert_int_equal(read_visits(fixture, 10 + 2), 2);
	consumer_fixture_stop(fixture, ingest);
	consumer_fixture_assert_ledger(fixture, 10);
	assert_int_equal(backend_fixture_logged(fixture->backend, "\"partition_halted\""), 0);
}

/* Each event takes a transaction that is slower than the pace at which as_of is brought up. */
TEST_CASE(is_not_up_to_date_before_the_last_event_of_a_record)
{
	struct consumer_fixture *fixture = *state;
	struct redirect_event clicks[60];
	test_database_run(fixture->database,
	                  "CREATE FUNCTION slow_down() RETURNS trigger LANGUAGE plpgsql AS "
	                  "'BEGIN PERFORM pg_sleep(0.05); RETURN NEW; END'");
	test_database_run(fixture->database,
	                  "CREATE TRIGGER slow_down BEFORE INSERT ON link_statistics "
	                  "FOR EACH STATEMENT EXECUTE FUNCTION slow_down()");
	for (uint32_t i = 0; i < 60; i++) {
		clicks[i] = consumer_fixture_click(1, i);
		clicks[i].occurred_at_us -= 3600 * INT64_C(1000000);
	}
	consumer_fixture_produce_batch(fixture, clicks, 60);
	consumer_fixture_flush(fixture);
	fixture->config.batch_events = 1;
	struct ingest *ingest = consumer_fixture_start(fixture);
	while (consumer_fixture_counted(fixture) < 60)
		assert_int_equal(
			consumer_fixture_ask(
				fixture,
				"SELECT count(*) FROM consumer_offsets WHERE next_index > 0 "
				"AND as_of > now() - interval '10 minutes'"),
			0);
	consumer_fixture_await(
		fixture,
		"SELECT count(*) FROM consumer_offsets WHERE as_of > now() - interval '10 minutes'",
		CONSUMER_FIXTURE_PARTITIONS);
	consumer_fixture_stop(fixture, ingest);
	consumer_fixture_assert_ledger(fixture, 60);
}

/* Consumers join while others count records, and leave within them. */
TEST_CASE(shares_partitions_while_records_are_half_counted)
{
	struct consumer_fixture *fixture = *state;
	fixture->config.batch_events = 7;
	struct ingest *ingests[3];
	for (size_t i = 0; i < 3; i++) {
		for (int record = 0; record < 4; record++)
			consumer_fixture_produce_record(fixture, 1 + record, 50);
		ingests[i] = consumer_fixture_start(fixture);
		consumer_fixture_await_logged(fixture, CONSUMER_FIXTURE_ASSIGNED, (int)i + 1);
	}
	for (size_t i = 0; i < 2; i++)
		consumer_fixture_stop(fixture, ingests[i]);
	consumer_fixture_await_counted(fixture, 600);
	consumer_fixture_stop(fixture, ingests[2]);
	consumer_fixture_assert_ledger(fixture, 600);
	assert_int_equal(
		consumer_fixture_ask(
			fixture,
			"SELECT count(*) FROM consumer_offsets WHERE published_offset <> next_offset"),
		0);
}

TEST_MAIN(.set_up = consumer_fixture_open, .tear_down = consumer_fixture_close)
