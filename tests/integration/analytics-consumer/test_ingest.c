/*
 * The whole path from Kafka to PostgreSQL and back to Kafka, with consumers that start, stop and
 * compete.
 */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/clicks/visit_event.h"
#include "tests/integration/analytics-consumer/consumer_fixture.h"
#include "tests/support/test.h"

TEST_CASE(drops_events_that_redirectors_send_again)
{
	struct consumer_fixture *fixture = *state;
	struct ingest *ingest = consumer_fixture_start(fixture);
	for (uint32_t i = 0; i < 300; i++) {
		struct redirect_event click = consumer_fixture_click(1 + i % 3, i);
		for (uint32_t again = 0; again <= i % 4; again++)
			consumer_fixture_produce(fixture, &click);
	}
	struct redirect_event clicks[20];
	for (uint32_t i = 0; i < 20; i++)
		clicks[i] = consumer_fixture_click(1 + i % 3, i);
	consumer_fixture_produce_batch(fixture, clicks, 20);
	consumer_fixture_produce_batch(fixture, clicks, 20);
	consumer_fixture_flush(fixture);
	consumer_fixture_await(fixture, "SELECT sum(next_offset)::bigint FROM consumer_offsets",
	                       752);
	consumer_fixture_assert_ledger(fixture, 320);
	consumer_fixture_stop(fixture, ingest);
}

TEST_CASE(starts_before_its_topics_exist)
{
	struct consumer_fixture *fixture = *state;
	fixture->has_topics = true;
	struct ingest *ingest = consumer_fixture_start(fixture);
	consumer_fixture_create_topics(fixture);
	consumer_fixture_produce_clicks(fixture, 100);
	consumer_fixture_await_counted(fixture, 100);
	consumer_fixture_stop(fixture, ingest);
	consumer_fixture_assert_ledger(fixture, 100);
}

TEST_CASE(stores_the_time_up_to_which_it_has_counted)
{
	struct consumer_fixture *fixture = *state;
	struct ingest *ingest = consumer_fixture_start(fixture);
	struct redirect_event click = consumer_fixture_click(1, 1);
	click.occurred_at_us -= 3600 * INT64_C(1000000);
	consumer_fixture_produce(fixture, &click);
	consumer_fixture_flush(fixture);
	consumer_fixture_await_counted(fixture, 1);
	/* Nothing else waits, so as_of approaches the present although the click is old. */
	consumer_fixture_await(
		fixture,
		"SELECT count(*) FROM consumer_offsets WHERE as_of > now() - interval '10 seconds'",
		CONSUMER_FIXTURE_PARTITIONS);
	/* as_of advances even without clicks. */
	test_database_run(fixture->database,
	                  "CREATE TABLE seen AS SELECT max(as_of) AS as_of FROM consumer_offsets");
	for (int i = 0; i < 2; i++) {
		consumer_fixture_await(
			fixture,
			"SELECT (count(*) > 0)::int FROM consumer_offsets, seen WHERE consumer_offsets.as_of > seen.as_of",
			1);
		test_database_run(
			fixture->database,
			"UPDATE seen SET as_of = (SELECT max(as_of) FROM consumer_offsets)");
		/* as_of never covers clicks that may still be in flight. */
		assert_int_equal(
			consumer_fixture_ask(
				fixture,
				"SELECT count(*) FROM seen WHERE as_of > now() - interval '1 second'"),
			0);
	}
	consumer_fixture_stop(fixture, ingest);
	assert_int_equal(consumer_fixture_counted(fixture), 1);
}

/* Partitions without clicks must not look as if clicks were waiting. */
TEST_CASE(advances_as_of_of_idle_partitions_while_another_is_busy)
{
	enum { CLICK_EVERY_MS = 300, CLICKS_MAX = 50 };
	struct consumer_fixture *fixture = *state;
	struct ingest *ingest = consumer_fixture_start(fixture);
	for (uint32_t i = 0; i < 40; i++) {
		struct redirect_event click = consumer_fixture_click(1 + i, i);
		click.occurred_at_us -= 3600 * INT64_C(1000000);
		consumer_fixture_produce(fixture, &click);
	}
	consumer_fixture_flush(fixture);
	consumer_fixture_await_counted(fixture, 40);
	assert_int_equal(consumer_fixture_ask(fixture, "SELECT count(*) FROM consumer_offsets"),
	                 CONSUMER_FIXTURE_PARTITIONS);
	int clicks = 0;
	while (consumer_fixture_ask(
		fixture,
		"SELECT (now() - min(as_of) > interval '10 seconds')::int FROM consumer_offsets")) {
		assert_true(clicks < CLICKS_MAX);
		struct redirect_event click = consumer_fixture_click(1, (uint32_t)clicks++);
		consumer_fixture_produce(fixture, &click);
		/* Not a wait for a condition: the interval between clicks. */
		poll(NULL, 0, CLICK_EVERY_MS);
	}
	consumer_fixture_flush(fixture);
	consumer_fixture_await_counted(fixture, 40 + clicks);
	consumer_fixture_stop(fixture, ingest);
	consumer_fixture_assert_ledger(fixture, 40 + clicks);
}

/* Reads the topic of visits as an integration does. */
static size_t read_visits(struct consumer_fixture *fixture, size_t count)
{
	size_t n = consumer_fixture_read(fixture, fixture->visits, count);
	for (size_t i = 0; i < n; i++) {
		struct visit_event visit;
		char id[ENTROPY_UUID_TEXT_SIZE];
		assert_int_equal(visit_event_decode(fixture->records[i].bytes,
		                                    fixture->records[i].len, &visit),
		                 OK);
		entropy_uuid_format(visit.event_id, id);
		assert_string_equal(fixture->records[i].id, id);
		assert_string_equal(fixture->records[i].key, visit.slug);
	}
	return n;
}

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct consumer_fixture_record *)a)->id,
	              ((const struct consumer_fixture_record *)b)->id);
}

TEST_CASE(publishes_each_counted_visit)
{
	struct consumer_fixture *fixture = *state;
	struct ingest *ingest = consumer_fixture_start(fixture);
	consumer_fixture_produce_clicks(fixture, 400);
	struct redirect_event repeated = consumer_fixture_click(1, 1);
	consumer_fixture_produce(fixture, &repeated);
	consumer_fixture_produce(fixture, &repeated);
	consumer_fixture_flush(fixture);
	size_t n = read_visits(fixture, 401);
	assert_int_equal(n, 401);
	consumer_fixture_assert_ledger(fixture, 401);
	struct visit_event visit;
	assert_int_equal(
		visit_event_decode(fixture->records[0].bytes, fixture->records[0].len, &visit), OK);
	assert_string_equal(visit.browser, "Chrome");
	assert_string_equal(visit.device, "desktop");
	assert_string_equal(visit.referrer_host, "news.example.com");
	assert_string_equal(visit.utm_source, "letter");
	assert_string_equal(visit.language, "de");
	assert_string_equal(visit.rule, "Germans");
	assert_string_equal(visit.variant, "B");
	assert_string_equal(visit.alias, "old");
	consumer_fixture_stop(fixture, ingest);
}

/* As if the process had died between its last commits and the acknowledgements of their visits. */
TEST_CASE(publishes_visits_again_with_the_same_content_after_a_crash)
{
	struct consumer_fixture *fixture = *state;
	consumer_fixture_produce_clicks(fixture, 200);
	struct ingest *ingest = consumer_fixture_start(fixture);
	consumer_fixture_await_counted(fixture, 200);
	consumer_fixture_stop(fixture, ingest);
	int64_t unpublished = consumer_fixture_ask(
		fixture,
		"WITH moved AS (UPDATE consumer_offsets SET published_offset = next_offset / 2 "
		"RETURNING next_offset - published_offset AS unpublished) "
		"SELECT sum(unpublished)::bigint FROM moved");
	assert_in_range(unpublished, 100, 110);
	ingest = consumer_fixture_start(fixture);
	consumer_fixture_produce_clicks(fixture, 10);
	consumer_fixture_await_counted(fixture, 210);
	size_t n = read_visits(fixture, 210 + (size_t)unpublished);
	consumer_fixture_stop(fixture, ingest);
	assert_int_equal(n, 210 + unpublished);
	consumer_fixture_assert_ledger(fixture, 210);
	qsort(fixture->records, n, sizeof(*fixture->records), by_id);
	int64_t repeats = 0;
	for (size_t i = 1; i < n; i++) {
		if (strcmp(fixture->records[i - 1].id, fixture->records[i].id) != 0)
			continue;
		repeats++;
		assert_int_equal(fixture->records[i - 1].len, fixture->records[i].len);
		assert_memory_equal(fixture->records[i - 1].bytes, fixture->records[i].bytes,
		                    fixture->records[i].len);
	}
	assert_int_equal(repeats, unpublished);
}

/* Consumers shut down while they publish visits that a crash left unpublished. */
TEST_CASE(publishes_all_visits_again_even_if_it_is_stopped_meanwhile)
{
	struct consumer_fixture *fixture = *state;
	consumer_fixture_produce_clicks(fixture, 400);
	struct ingest *ingest = consumer_fixture_start(fixture);
	consumer_fixture_await_counted(fixture, 400);
	consumer_fixture_stop(fixture, ingest);
	test_database_run(fixture->database, "UPDATE consumer_offsets SET published_offset = 0");
	fixture->config.batch_events = 3;
	for (int i = 0; i < 4; i++) {
		int assigned = backend_fixture_logged(fixture->backend, CONSUMER_FIXTURE_ASSIGNED);
		ingest = consumer_fixture_start(fixture);
		consumer_fixture_await_logged(fixture, CONSUMER_FIXTURE_ASSIGNED, assigned + 1);
		consumer_fixture_stop(fixture, ingest);
	}
	ingest = consumer_fixture_start(fixture);
	consumer_fixture_await(
		fixture,
		"SELECT count(*) FROM consumer_offsets WHERE published_offset <> next_offset", 0);
	consumer_fixture_stop(fixture, ingest);
	consumer_fixture_assert_ledger(fixture, 400);
	size_t n = read_visits(fixture, 800);
	qsort(fixture->records, n, sizeof(*fixture->records), by_id);
	/* Each id is there once from the first publication and at least once from the second. */
	size_t ids = 0;
	for (size_t i = 0; i < n; ids++) {
		size_t first = i;
		while (i < n && strcmp(fixture->records[i].id, fixture->records[first].id) == 0)
			i++;
		assert_true(i - first >= 2);
	}
	assert_int_equal(ids, 400);
}

/* A consumer of small batches whose visits Kafka has refused twice. */
static struct ingest *start_until_visits_are_refused(struct consumer_fixture *fixture, int clicks)
{
	fixture->visits_bytes_max = "50";
	fixture->config.batch_events = 10;
	consumer_fixture_produce_clicks(fixture, clicks);
	struct ingest *ingest = consumer_fixture_start(fixture);
	consumer_fixture_await_logged(fixture, "\"visits_refused\"", 2);
	return ingest;
}

/* A counted visit that is never published would be the worse failure. */
TEST_CASE(stops_counting_and_logs_while_kafka_refuses_visits)
{
	struct consumer_fixture *fixture = *state;
	struct ingest *ingest = start_until_visits_are_refused(fixture, 500);
	int64_t counted = consumer_fixture_counted(fixture);
	assert_in_range(counted, 1, 400);
	consumer_fixture_stop(fixture, ingest);
	consumer_fixture_assert_ledger(fixture, counted);
	assert_int_equal(
		consumer_fixture_ask(
			fixture,
			"SELECT count(*) FROM consumer_offsets WHERE published_offset = next_offset"),
		0);
}

/*
 * A batch is stored while the visits of the one before wait for Kafka, which then refuses them. No
 * visit of either may be taken as published.
 */
TEST_CASE(publishes_refused_visits_once_kafka_accepts_them)
{
	struct consumer_fixture *fixture = *state;
	struct ingest *ingest = start_until_visits_are_refused(fixture, 300);
	consumer_fixture_stop(fixture, ingest);
	assert_in_range(consumer_fixture_counted(fixture), 1, 290);
	snprintf(fixture->visits, sizeof(fixture->visits), "%s.accepted", fixture->backend->unique);
	fixture->visits_bytes_max = NULL;
	consumer_fixture_create_topics(fixture);
	ingest = consumer_fixture_start(fixture);
	consumer_fixture_await_counted(fixture, 300);
	size_t n = read_visits(fixture, 300);
	consumer_fixture_stop(fixture, ingest);
	consumer_fixture_assert_ledger(fixture, 300);
	assert_int_equal(n, 300);
	qsort(fixture->records, n, sizeof(*fixture->records), by_id);
	for (size_t i = 1; i < n; i++)
		assert_string_not_equal(fixture->records[i - 1].id, fixture->records[i].id);
}

TEST_MAIN(.set_up = consumer_fixture_open, .tear_down = consumer_fixture_close)
