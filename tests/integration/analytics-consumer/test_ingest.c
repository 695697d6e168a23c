/*
 * The whole path from Kafka to PostgreSQL and back to Kafka, with consumers that start, stop and
 * compete.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/clicks/visit_event.h"
#include "tests/integration/analytics-consumer/world.h"

static void produce_clicks(struct world *fixture, int count)
{
	for (int i = 0; i < count; i++) {
		struct redirect_event click = world_click(1 + i % 17, (uint32_t)i);
		world_produce(fixture, &click);
	}
	world_flush(fixture);
}

static int64_t ask(struct world *fixture, const char *sql)
{
	return test_database_ask(fixture->database, sql);
}

static void await(struct world *fixture, const char *sql, int64_t wanted)
{
	test_database_await(fixture->database, sql, wanted, WORLD_DEADLINE_MS);
}

static void counts_every_click_once(void **state)
{
	struct world *fixture = *state;
	world_make_topics(fixture);
	struct ingest *ingest = world_start(fixture);
	produce_clicks(fixture, 3000);
	world_await_counted(fixture, 3000);
	world_assert_books(fixture, 3000);
	assert_true(ingest_kafka_is_reachable(ingest));
	assert_true(ingest_has_no_halted_partition(ingest));
	assert_true(ingest_can_store(ingest));
	world_stop(fixture, ingest);
}

static void continues_where_it_stopped(void **state)
{
	struct world *fixture = *state;
	world_make_topics(fixture);
	produce_clicks(fixture, 500);
	world_stop(fixture, world_start(fixture));
	for (int round = 1; round <= 3; round++) {
		produce_clicks(fixture, 500);
		struct ingest *ingest = world_start(fixture);
		world_await_counted(fixture, 500 + 500 * round);
		world_stop(fixture, ingest);
	}
	world_assert_books(fixture, 2000);
	/* After an orderly shutdown nothing has to be published again. */
	assert_int_equal(ask(fixture, "SELECT count(*) FROM consumer_offsets WHERE published_offset <> next_offset"),
	                 0);
}

static void drops_events_that_redirectors_send_again(void **state)
{
	struct world *fixture = *state;
	world_make_topics(fixture);
	struct ingest *ingest = world_start(fixture);
	for (uint32_t i = 0; i < 300; i++) {
		struct redirect_event click = world_click(1 + i % 3, i);
		for (uint32_t again = 0; again <= i % 4; again++)
			world_produce(fixture, &click);
	}
	world_flush(fixture);
	await(fixture, "SELECT sum(next_offset)::bigint FROM consumer_offsets", 750);
	world_assert_books(fixture, 300);
	world_stop(fixture, ingest);
}

static void starts_before_its_topics_exist(void **state)
{
	struct world *fixture = *state;
	struct ingest *ingest = world_start(fixture);
	world_make_topics(fixture);
	produce_clicks(fixture, 100);
	world_await_counted(fixture, 100);
	world_stop(fixture, ingest);
	world_assert_books(fixture, 100);
}

static void stores_the_time_up_to_which_it_has_counted(void **state)
{
	struct world *fixture = *state;
	world_make_topics(fixture);
	struct ingest *ingest = world_start(fixture);
	struct redirect_event click = world_click(1, 1);
	click.occurred_at_us -= 3600 * INT64_C(1000000);
	world_produce(fixture, &click);
	world_flush(fixture);
	world_await_counted(fixture, 1);
	/* Nothing else waits, so as_of approaches the present although the click is old. */
	await(fixture, "SELECT count(*) FROM consumer_offsets WHERE as_of > now() - interval '10 seconds'",
	      WORLD_PARTITIONS);
	/* as_of advances even without clicks. */
	test_database_run(fixture->database, "CREATE TABLE seen AS SELECT max(as_of) AS as_of FROM consumer_offsets");
	for (int i = 0; i < 2; i++) {
		await(fixture,
		      "SELECT (count(*) > 0)::int FROM consumer_offsets, seen WHERE consumer_offsets.as_of > seen.as_of",
		      1);
		test_database_run(fixture->database,
		                  "UPDATE seen SET as_of = (SELECT max(as_of) FROM consumer_offsets)");
		/* as_of never covers clicks that may still be in flight. */
		assert_int_equal(ask(fixture, "SELECT count(*) FROM seen WHERE as_of > now() - interval '1 second'"),
		                 0);
	}
	world_stop(fixture, ingest);
	assert_int_equal(world_counted(fixture), 1);
}

/* Partitions without clicks must not look as if clicks were waiting. */
static void advances_as_of_of_idle_partitions_while_another_is_busy(void **state)
{
	enum { CLICK_EVERY_MS = 300, CLICKS_MAX = 50 };
	struct world *fixture = *state;
	world_make_topics(fixture);
	struct ingest *ingest = world_start(fixture);
	for (uint32_t i = 0; i < 40; i++) {
		struct redirect_event click = world_click(1 + i, i);
		click.occurred_at_us -= 3600 * INT64_C(1000000);
		world_produce(fixture, &click);
	}
	world_flush(fixture);
	world_await_counted(fixture, 40);
	assert_int_equal(ask(fixture, "SELECT count(*) FROM consumer_offsets"), WORLD_PARTITIONS);
	int clicks = 0;
	while (ask(fixture, "SELECT (now() - min(as_of) > interval '10 seconds')::int FROM consumer_offsets")) {
		assert_true(clicks < CLICKS_MAX);
		struct redirect_event click = world_click(1, (uint32_t)clicks++);
		world_produce(fixture, &click);
		/* Not a wait for a condition: the interval between clicks. */
		poll(NULL, 0, CLICK_EVERY_MS);
	}
	world_flush(fixture);
	world_await_counted(fixture, 40 + clicks);
	world_stop(fixture, ingest);
	world_assert_books(fixture, 40 + clicks);
}

/* Reads the topic of visits as an integration does. */
static size_t read_visits(struct world *fixture, size_t count)
{
	size_t n = world_read(fixture, fixture->visits, count);
	for (size_t i = 0; i < n; i++) {
		struct visit_event visit;
		char id[ENTROPY_UUID_TEXT_SIZE];
		assert_int_equal(visit_event_decode(fixture->records[i].bytes, fixture->records[i].len, &visit), OK);
		entropy_uuid_format(visit.event_id, id);
		assert_string_equal(fixture->records[i].id, id);
		assert_string_equal(fixture->records[i].key, visit.slug);
	}
	return n;
}

struct assignment_wait {
	const struct net_fixture *backend;
	int assignments;
};

static bool has_been_assigned(void *ctx)
{
	const struct assignment_wait *wait = ctx;
	return net_fixture_logged(wait->backend, "kafka_partitions_assigned") >= wait->assignments;
}

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct world_record *)a)->id, ((const struct world_record *)b)->id);
}

static void publishes_each_counted_visit(void **state)
{
	struct world *fixture = *state;
	world_make_topics(fixture);
	struct ingest *ingest = world_start(fixture);
	produce_clicks(fixture, 400);
	struct redirect_event repeated = world_click(1, 1);
	world_produce(fixture, &repeated);
	world_produce(fixture, &repeated);
	world_flush(fixture);
	size_t n = read_visits(fixture, 401);
	assert_int_equal(n, 401);
	world_assert_books(fixture, 401);
	struct visit_event visit;
	assert_int_equal(visit_event_decode(fixture->records[0].bytes, fixture->records[0].len, &visit), OK);
	assert_string_equal(visit.browser, "Chrome");
	assert_string_equal(visit.device, "desktop");
	assert_string_equal(visit.referrer_host, "news.example.com");
	assert_string_equal(visit.utm_source, "letter");
	assert_string_equal(visit.language, "de");
	world_stop(fixture, ingest);
}

/* As if the process had died between its last commits and the acknowledgements of their visits. */
static void publishes_visits_again_with_the_same_content_after_a_crash(void **state)
{
	struct world *fixture = *state;
	world_make_topics(fixture);
	produce_clicks(fixture, 200);
	struct ingest *ingest = world_start(fixture);
	world_await_counted(fixture, 200);
	world_stop(fixture, ingest);
	int64_t unpublished =
		ask(fixture, "WITH moved AS (UPDATE consumer_offsets SET published_offset = next_offset / 2 "
	                     "RETURNING next_offset - published_offset AS unpublished) "
	                     "SELECT sum(unpublished)::bigint FROM moved");
	assert_in_range(unpublished, 100, 110);
	ingest = world_start(fixture);
	produce_clicks(fixture, 10);
	world_await_counted(fixture, 210);
	size_t n = read_visits(fixture, 210 + (size_t)unpublished);
	world_stop(fixture, ingest);
	assert_int_equal(n, 210 + unpublished);
	world_assert_books(fixture, 210);
	qsort(fixture->records, n, sizeof(*fixture->records), by_id);
	int64_t repeats = 0;
	for (size_t i = 1; i < n; i++) {
		if (strcmp(fixture->records[i - 1].id, fixture->records[i].id) != 0)
			continue;
		repeats++;
		assert_int_equal(fixture->records[i - 1].len, fixture->records[i].len);
		assert_memory_equal(fixture->records[i - 1].bytes, fixture->records[i].bytes, fixture->records[i].len);
	}
	assert_int_equal(repeats, unpublished);
}

/* Consumers shut down while they publish visits that a crash left unpublished. */
static void publishes_all_visits_again_even_if_it_is_stopped_meanwhile(void **state)
{
	struct world *fixture = *state;
	world_make_topics(fixture);
	produce_clicks(fixture, 400);
	struct ingest *ingest = world_start(fixture);
	world_await_counted(fixture, 400);
	world_stop(fixture, ingest);
	test_database_run(fixture->database, "UPDATE consumer_offsets SET published_offset = 0");
	fixture->config.batch_events = 3;
	for (int i = 0; i < 4; i++) {
		int assigned = net_fixture_logged(fixture->backend, "kafka_partitions_assigned");
		struct assignment_wait wait = { fixture->backend, assigned + 1 };
		ingest = world_start(fixture);
		net_fixture_wait(has_been_assigned, &wait, WORLD_DEADLINE_MS);
		world_stop(fixture, ingest);
	}
	ingest = world_start(fixture);
	await(fixture, "SELECT count(*) FROM consumer_offsets WHERE published_offset <> next_offset", 0);
	world_stop(fixture, ingest);
	world_assert_books(fixture, 400);
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

static bool has_been_refused(void *ctx)
{
	return net_fixture_logged(((struct world *)ctx)->backend, "\"visits_refused\"") >= 2;
}

/* A counted visit that is never published would be the worse failure. */
static void stops_counting_and_logs_while_kafka_refuses_visits(void **state)
{
	struct world *fixture = *state;
	fixture->visits_bytes_max = "50";
	world_make_topics(fixture);
	fixture->config.batch_events = 10;
	produce_clicks(fixture, 500);
	struct ingest *ingest = world_start(fixture);
	net_fixture_wait(has_been_refused, fixture, WORLD_DEADLINE_MS);
	int64_t counted = world_counted(fixture);
	assert_in_range(counted, 1, 400);
	world_stop(fixture, ingest);
	world_assert_books(fixture, counted);
	assert_int_equal(ask(fixture, "SELECT count(*) FROM consumer_offsets WHERE published_offset = next_offset"), 0);
}

/* Two groups on one store: each considers itself the owner of all partitions. */
static void counts_once_while_two_groups_compete(void **state)
{
	struct world *fixture = *state;
	world_make_topics(fixture);
	struct ingest *first = world_start(fixture);
	struct ingest *second = world_start_zombie(fixture);
	for (int i = 0; i < 30; i++) {
		produce_clicks(fixture, 100);
		await(fixture, "SELECT (sum(next_offset) > 0)::int FROM consumer_offsets", 1);
	}
	world_await_counted(fixture, 3000);
	world_assert_books(fixture, 3000);
	assert_true(net_fixture_logged(fixture->backend, "batch_fenced") > 0);
	world_stop(fixture, first);
	world_stop(fixture, second);
	world_assert_books(fixture, 3000);
}

static void shares_partitions_within_its_group(void **state)
{
	struct world *fixture = *state;
	world_make_topics(fixture);
	struct ingest *ingests[3];
	for (size_t i = 0; i < 3; i++) {
		ingests[i] = world_start(fixture);
		produce_clicks(fixture, 300);
	}
	for (size_t i = 0; i < 3; i++) {
		world_await_counted(fixture, 900 + 300 * (int64_t)i);
		world_stop(fixture, ingests[i]);
		produce_clicks(fixture, 300);
	}
	assert_int_equal(world_counted(fixture), 1500);
	struct ingest *last = world_start(fixture);
	world_await_counted(fixture, 1800);
	world_stop(fixture, last);
	world_assert_books(fixture, 1800);
}

int main(void)
{
#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, world_open, world_close)
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(counts_every_click_once),
		WITH_FIXTURE(continues_where_it_stopped),
		WITH_FIXTURE(drops_events_that_redirectors_send_again),
		WITH_FIXTURE(starts_before_its_topics_exist),
		WITH_FIXTURE(stores_the_time_up_to_which_it_has_counted),
		WITH_FIXTURE(advances_as_of_of_idle_partitions_while_another_is_busy),
		WITH_FIXTURE(publishes_each_counted_visit),
		WITH_FIXTURE(publishes_visits_again_with_the_same_content_after_a_crash),
		WITH_FIXTURE(publishes_all_visits_again_even_if_it_is_stopped_meanwhile),
		WITH_FIXTURE(stops_counting_and_logs_while_kafka_refuses_visits),
		WITH_FIXTURE(counts_once_while_two_groups_compete),
		WITH_FIXTURE(shares_partitions_within_its_group),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
