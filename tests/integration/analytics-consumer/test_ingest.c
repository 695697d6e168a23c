/* The whole way from Kafka to PostgreSQL and back to Kafka, with consumers that come, go and disagree. */
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

static void produce_clicks(struct world *world, int count)
{
	for (int i = 0; i < count; i++) {
		struct redirect_event click = world_click(1 + i % 17, (uint32_t)i);
		world_produce(world, &click);
	}
	world_flush(world);
}

static int64_t ask(struct world *world, const char *sql)
{
	return test_database_ask(world->database, sql);
}

static void await(struct world *world, const char *sql, int64_t wanted)
{
	test_database_await(world->database, sql, wanted, WORLD_DEADLINE_MS);
}

static void counts_every_click_once(void **state)
{
	struct world *world = *state;
	world_make_topics(world);
	struct ingest *ingest = world_start(world);
	produce_clicks(world, 3000);
	world_await_counted(world, 3000);
	world_assert_books(world, 3000);
	assert_true(ingest_kafka_is_reachable(ingest));
	assert_true(ingest_has_no_halted_partition(ingest));
	assert_true(ingest_can_store(ingest));
	world_stop(world, ingest);
}

static void goes_on_where_it_stopped(void **state)
{
	struct world *world = *state;
	world_make_topics(world);
	produce_clicks(world, 500);
	world_stop(world, world_start(world));
	for (int round = 1; round <= 3; round++) {
		produce_clicks(world, 500);
		struct ingest *ingest = world_start(world);
		world_await_counted(world, 500 + 500 * round);
		world_stop(world, ingest);
	}
	world_assert_books(world, 2000);
	/* An orderly end leaves nothing to publish again. */
	assert_int_equal(ask(world, "SELECT count(*) FROM consumer_offsets WHERE published_offset <> next_offset"), 0);
}

static void drops_what_redirectors_send_again(void **state)
{
	struct world *world = *state;
	world_make_topics(world);
	struct ingest *ingest = world_start(world);
	for (uint32_t i = 0; i < 300; i++) {
		struct redirect_event click = world_click(1 + i % 3, i);
		for (uint32_t again = 0; again <= i % 4; again++)
			world_produce(world, &click);
	}
	world_flush(world);
	await(world, "SELECT sum(next_offset)::bigint FROM consumer_offsets", 750);
	world_assert_books(world, 300);
	world_stop(world, ingest);
}

static void starts_before_its_topics(void **state)
{
	struct world *world = *state;
	struct ingest *ingest = world_start(world);
	world_make_topics(world);
	produce_clicks(world, 100);
	world_await_counted(world, 100);
	world_stop(world, ingest);
	world_assert_books(world, 100);
}

static void says_up_to_when_it_has_counted(void **state)
{
	struct world *world = *state;
	world_make_topics(world);
	struct ingest *ingest = world_start(world);
	struct redirect_event click = world_click(1, 1);
	click.occurred_at_us -= 3600 * INT64_C(1000000);
	world_produce(world, &click);
	world_flush(world);
	world_await_counted(world, 1);
	/* Nothing else waits: soon everything up to now has been counted, although the click is old. */
	await(world, "SELECT count(*) FROM consumer_offsets WHERE as_of > now() - interval '10 seconds'",
	      WORLD_PARTITIONS);
	/* And while nobody clicks it goes on. */
	test_database_run(world->database, "CREATE TABLE seen AS SELECT max(as_of) AS as_of FROM consumer_offsets");
	for (int i = 0; i < 2; i++) {
		await(world,
		      "SELECT (count(*) > 0)::int FROM consumer_offsets, seen WHERE consumer_offsets.as_of > seen.as_of",
		      1);
		test_database_run(world->database, "UPDATE seen SET as_of = (SELECT max(as_of) FROM consumer_offsets)");
		/* Of what may be on its way nothing is claimed. */
		assert_int_equal(ask(world, "SELECT count(*) FROM seen WHERE as_of > now() - interval '1 second'"), 0);
	}
	world_stop(world, ingest);
	assert_int_equal(world_counted(world), 1);
}

/* The other partitions have nothing to wait for, and must not look as if they had. */
static void says_so_of_quiet_partitions_while_one_link_is_clicked(void **state)
{
	enum { CLICK_EVERY_MS = 300, CLICKS_MAX = 50 };
	struct world *world = *state;
	world_make_topics(world);
	struct ingest *ingest = world_start(world);
	for (uint32_t i = 0; i < 40; i++) {
		struct redirect_event click = world_click(1 + i, i);
		click.occurred_at_us -= 3600 * INT64_C(1000000);
		world_produce(world, &click);
	}
	world_flush(world);
	world_await_counted(world, 40);
	assert_int_equal(ask(world, "SELECT count(*) FROM consumer_offsets"), WORLD_PARTITIONS);
	int clicks = 0;
	while (ask(world, "SELECT (now() - min(as_of) > interval '10 seconds')::int FROM consumer_offsets")) {
		assert_true(clicks < CLICKS_MAX);
		struct redirect_event click = world_click(1, (uint32_t)clicks++);
		world_produce(world, &click);
		/* Not waiting for anything: this is how often somebody clicks. */
		poll(NULL, 0, CLICK_EVERY_MS);
	}
	world_flush(world);
	world_await_counted(world, 40 + clicks);
	world_stop(world, ingest);
	world_assert_books(world, 40 + clicks);
}

/* The topic of visits as an integration sees it. */
static size_t read_visits(struct world *world, size_t count)
{
	size_t n = world_read(world, world->visits, count);
	for (size_t i = 0; i < n; i++) {
		struct visit_event visit;
		char id[ENTROPY_UUID_TEXT_SIZE];
		assert_int_equal(visit_event_decode(world->records[i].bytes, world->records[i].len, &visit), OK);
		entropy_uuid_format(visit.event_id, id);
		assert_string_equal(world->records[i].id, id);
		assert_string_equal(world->records[i].key, visit.slug);
	}
	return n;
}

struct waiting {
	const struct net_fixture *fixture;
	int assignments;
};

static bool has_been_assigned(void *ctx)
{
	const struct waiting *waiting = ctx;
	return net_fixture_logged(waiting->fixture, "kafka_partitions_assigned") >= waiting->assignments;
}

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct world_record *)a)->id, ((const struct world_record *)b)->id);
}

static void publishes_each_counted_visit(void **state)
{
	struct world *world = *state;
	world_make_topics(world);
	struct ingest *ingest = world_start(world);
	produce_clicks(world, 400);
	struct redirect_event repeated = world_click(1, 1);
	world_produce(world, &repeated);
	world_produce(world, &repeated);
	world_flush(world);
	size_t n = read_visits(world, 401);
	assert_int_equal(n, 401);
	world_assert_books(world, 401);
	struct visit_event visit;
	assert_int_equal(visit_event_decode(world->records[0].bytes, world->records[0].len, &visit), OK);
	assert_string_equal(visit.browser, "Chrome");
	assert_string_equal(visit.device, "desktop");
	assert_string_equal(visit.referrer_host, "news.example.com");
	assert_string_equal(visit.utm_source, "letter");
	assert_string_equal(visit.language, "de");
	world_stop(world, ingest);
}

/* As if the process had died between its last commits and their visits' acknowledgements. */
static void publishes_what_a_crash_left_over_with_the_same_content(void **state)
{
	struct world *world = *state;
	world_make_topics(world);
	produce_clicks(world, 200);
	struct ingest *ingest = world_start(world);
	world_await_counted(world, 200);
	world_stop(world, ingest);
	int64_t left_over = ask(world, "WITH moved AS (UPDATE consumer_offsets SET published_offset = next_offset / 2 "
	                               "RETURNING next_offset - published_offset AS left_over) "
	                               "SELECT sum(left_over)::bigint FROM moved");
	assert_in_range(left_over, 100, 110);
	ingest = world_start(world);
	produce_clicks(world, 10);
	world_await_counted(world, 210);
	size_t n = read_visits(world, 210 + (size_t)left_over);
	world_stop(world, ingest);
	assert_int_equal(n, 210 + left_over);
	world_assert_books(world, 210);
	qsort(world->records, n, sizeof(*world->records), by_id);
	int64_t repeats = 0;
	for (size_t i = 1; i < n; i++) {
		if (strcmp(world->records[i - 1].id, world->records[i].id) != 0)
			continue;
		repeats++;
		assert_int_equal(world->records[i - 1].len, world->records[i].len);
		assert_memory_equal(world->records[i - 1].bytes, world->records[i].bytes, world->records[i].len);
	}
	assert_int_equal(repeats, left_over);
}

/* Owners that end, in good order, while they are still publishing what a crash left over. */
static void publishes_all_that_was_left_over_however_often_it_is_stopped(void **state)
{
	struct world *world = *state;
	world_make_topics(world);
	produce_clicks(world, 400);
	struct ingest *ingest = world_start(world);
	world_await_counted(world, 400);
	world_stop(world, ingest);
	test_database_run(world->database, "UPDATE consumer_offsets SET published_offset = 0");
	world->config.batch_events = 3;
	for (int i = 0; i < 4; i++) {
		int assigned = net_fixture_logged(world->fixture, "kafka_partitions_assigned");
		struct waiting waiting = { world->fixture, assigned + 1 };
		ingest = world_start(world);
		net_fixture_wait(has_been_assigned, &waiting, WORLD_DEADLINE_MS);
		world_stop(world, ingest);
	}
	ingest = world_start(world);
	await(world, "SELECT count(*) FROM consumer_offsets WHERE published_offset <> next_offset", 0);
	world_stop(world, ingest);
	world_assert_books(world, 400);
	size_t n = read_visits(world, 800);
	qsort(world->records, n, sizeof(*world->records), by_id);
	/* Each id stands there once from the first time, and at least once from the second. */
	size_t ids = 0;
	for (size_t i = 0; i < n; ids++) {
		size_t first = i;
		while (i < n && strcmp(world->records[i].id, world->records[first].id) == 0)
			i++;
		assert_true(i - first >= 2);
	}
	assert_int_equal(ids, 400);
}

static bool has_been_refused(void *ctx)
{
	return net_fixture_logged(((struct world *)ctx)->fixture, "\"visits_refused\"") >= 2;
}

/* A counted visit that nobody hears of would be the worse failure. */
static void waits_loudly_while_kafka_refuses_visits(void **state)
{
	struct world *world = *state;
	world->visits_bytes_max = "50";
	world_make_topics(world);
	world->config.batch_events = 10;
	produce_clicks(world, 500);
	struct ingest *ingest = world_start(world);
	net_fixture_wait(has_been_refused, world, WORLD_DEADLINE_MS);
	int64_t counted = world_counted(world);
	assert_in_range(counted, 1, 400);
	world_stop(world, ingest);
	world_assert_books(world, counted);
	assert_int_equal(ask(world, "SELECT count(*) FROM consumer_offsets WHERE published_offset = next_offset"), 0);
}

/* Two groups on one store: each believes for ever that all partitions are its own. */
static void counts_once_although_two_owners_never_agree(void **state)
{
	struct world *world = *state;
	world_make_topics(world);
	struct ingest *first = world_start(world);
	struct ingest *second = world_start_zombie(world);
	for (int i = 0; i < 30; i++) {
		produce_clicks(world, 100);
		await(world, "SELECT (sum(next_offset) > 0)::int FROM consumer_offsets", 1);
	}
	world_await_counted(world, 3000);
	world_assert_books(world, 3000);
	assert_true(net_fixture_logged(world->fixture, "batch_fenced") > 0);
	world_stop(world, first);
	world_stop(world, second);
	world_assert_books(world, 3000);
}

static void shares_partitions_with_others_of_its_group(void **state)
{
	struct world *world = *state;
	world_make_topics(world);
	struct ingest *ingests[3];
	for (size_t i = 0; i < 3; i++) {
		ingests[i] = world_start(world);
		produce_clicks(world, 300);
	}
	for (size_t i = 0; i < 3; i++) {
		world_await_counted(world, 900 + 300 * (int64_t)i);
		world_stop(world, ingests[i]);
		produce_clicks(world, 300);
	}
	assert_int_equal(world_counted(world), 1500);
	struct ingest *last = world_start(world);
	world_await_counted(world, 1800);
	world_stop(world, last);
	world_assert_books(world, 1800);
}

int main(void)
{
#define IN_A_WORLD(test) cmocka_unit_test_setup_teardown(test, world_open, world_close)
	const struct CMUnitTest tests[] = {
		IN_A_WORLD(counts_every_click_once),
		IN_A_WORLD(goes_on_where_it_stopped),
		IN_A_WORLD(drops_what_redirectors_send_again),
		IN_A_WORLD(starts_before_its_topics),
		IN_A_WORLD(says_up_to_when_it_has_counted),
		IN_A_WORLD(says_so_of_quiet_partitions_while_one_link_is_clicked),
		IN_A_WORLD(publishes_each_counted_visit),
		IN_A_WORLD(publishes_what_a_crash_left_over_with_the_same_content),
		IN_A_WORLD(publishes_all_that_was_left_over_however_often_it_is_stopped),
		IN_A_WORLD(waits_loudly_while_kafka_refuses_visits),
		IN_A_WORLD(counts_once_although_two_owners_never_agree),
		IN_A_WORLD(shares_partitions_with_others_of_its_group),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
