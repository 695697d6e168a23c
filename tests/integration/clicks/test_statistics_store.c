#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/clicks/statistics_store.h"
#include "tests/support/test.h"
#include "tests/support/test_database.h"

struct fixture {
	struct test_database *db;
	struct pg_conn *consumer;
	struct pg_conn *api;
};

static int set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	f->db = test_database_new();
	f->consumer = test_database_connect(f->db, "waymark_consumer");
	f->api = test_database_connect(f->db, "waymark_links_api");
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	pg_conn_close(f->consumer);
	pg_conn_close(f->api);
	test_database_close(f->db);
	free(f);
	return 0;
}

static int truncate_tables(void **state)
{
	struct fixture *f = *state;
	test_database_run(f->db, "TRUNCATE link_statistics, consumer_offsets");
	return 0;
}

static void assert_close(double a, double b)
{
	if (fabs(a - b) > 1e-9 * (1 + fabs(b)))
		fail_msg("%.17g is not %.17g", a, b);
}

TEST_CASE(gives_zeros_for_a_link_without_clicks)
{
	struct fixture *f = *state;
	struct statistics out = { .visit_count = 77 };
	assert_int_equal(statistics_store_get(f->api, 5, &out), OK);
	assert_int_equal(out.link_id, 5);
	assert_int_equal(out.visit_count, 0);
	assert_int_equal(out.last_visited_at_us, 0);
	assert_int_equal(out.latency_ms.n, 0);
}

TEST_CASE(adds_counts_and_keeps_the_latest_visit)
{
	struct fixture *f = *state;
	const struct statistics deltas[] = {
		{ .link_id = 5,
		  .visit_count = 3,
		  .bot_count = 1,
		  .unique_visitors = 2,
		  .last_visited_at_us = 1700000000123456 },
		{ .link_id = 5,
		  .visit_count = 10,
		  .bot_count = 0,
		  .unique_visitors = 4,
		  .last_visited_at_us = 1600000000000000 },
		{ .link_id = 5, .bot_count = 1 },
	};
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(statistics_store_add(f->consumer, &deltas[i], 1), OK);
	struct statistics out;
	assert_int_equal(statistics_store_get(f->api, 5, &out), OK);
	assert_int_equal(out.visit_count, 13);
	assert_int_equal(out.bot_count, 2);
	assert_int_equal(out.unique_visitors, 6);
	assert_int_equal(out.last_visited_at_us, 1700000000123456);
}

/*
 * Latencies of many magnitudes in batches of 0 to 9. The row must equal one pass over all of them.
 */
TEST_CASE(merged_latencies_equal_a_single_pass)
{
	struct fixture *f = *state;
	struct welford whole = { 0 };
	unsigned seed = 7;
	for (int batch = 0; batch < 200; batch++) {
		struct statistics delta = { .link_id = STATISTICS_STORE_PLATFORM };
		for (int i = rand_r(&seed) % 10; i > 0; i--) {
			double latency = exp((double)rand_r(&seed) / RAND_MAX * 12 - 4) +
			                 (batch > 100 ? 1000 : 0);
			statistics_store_welford_add(&delta.latency_ms, latency);
			statistics_store_welford_add(&whole, latency);
		}
		assert_int_equal(statistics_store_add(f->consumer, &delta, 1), OK);
	}
	struct statistics out;
	assert_int_equal(statistics_store_get(f->api, STATISTICS_STORE_PLATFORM, &out), OK);
	assert_true(whole.n > 500);
	assert_int_equal(out.latency_ms.n, whole.n);
	assert_close(out.latency_ms.mean, whole.mean);
	assert_close(out.latency_ms.m2, whole.m2);
	assert_close(statistics_store_welford_stddev(&out.latency_ms),
	             statistics_store_welford_stddev(&whole));
}

TEST_CASE(refuses_unsorted_and_duplicate_deltas)
{
	struct fixture *f = *state;
	const struct statistics turned[] = { { .link_id = 2 }, { .link_id = 1 } };
	const struct statistics twice[] = { { .link_id = 2 }, { .link_id = 2 } };
	assert_int_equal(statistics_store_add(f->consumer, turned, 2), ERR_INTERNAL);
	assert_int_equal(statistics_store_add(f->consumer, twice, 2), ERR_INTERNAL);
	assert_int_equal(statistics_store_add(f->consumer, twice, 0), OK);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM link_statistics"), 0);
}

struct counter {
	struct pg_conn *conn;
	enum err result;
};

static void *count_hundred(void *arg)
{
	struct counter *c = arg;
	struct statistics deltas[20];
	for (int64_t i = 0; i < 20; i++)
		deltas[i] = (struct statistics){ .link_id = i,
			                         .visit_count = 1,
			                         .latency_ms = { 1, 5, 0 } };
	for (int i = 0; i < 100 && c->result == OK; i++)
		c->result = statistics_store_add(c->conn, deltas, 20);
	return NULL;
}

TEST_CASE(counts_exactly_with_concurrent_writers)
{
	struct fixture *f = *state;
	enum { COUNTERS = 4 };
	struct counter counters[COUNTERS] = { 0 };
	pthread_t threads[COUNTERS];
	for (size_t i = 0; i < COUNTERS; i++) {
		counters[i].conn = test_database_connect(f->db, "waymark_consumer");
		assert_int_equal(pthread_create(&threads[i], NULL, count_hundred, &counters[i]), 0);
	}
	for (size_t i = 0; i < COUNTERS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(counters[i].result, OK);
		pg_conn_close(counters[i].conn);
	}
	assert_int_equal(test_database_ask(f->db, "SELECT min(visit_count) FROM link_statistics"),
	                 COUNTERS * 100);
	assert_int_equal(test_database_ask(f->db, "SELECT max(latency_count) FROM link_statistics"),
	                 COUNTERS * 100);
	assert_int_equal(
		test_database_ask(f->db,
	                          "SELECT count(*) FROM link_statistics WHERE latency_mean_ms = 5"),
		20);
}

TEST_CASE(as_of_is_the_oldest_time_of_all_partitions)
{
	struct fixture *f = *state;
	int64_t as_of_us = -1;
	assert_int_equal(statistics_store_as_of(f->api, &as_of_us), OK);
	assert_int_equal(as_of_us, 0);
	test_database_run(
		f->db, "INSERT INTO consumer_offsets (topic, partition, next_offset, as_of) VALUES "
		       "('waymark.redirects.v1', 0, 5, '2026-01-01T00:00:02Z'), "
		       "('waymark.redirects.v1', 1, 5, '2026-01-01T00:00:01.000001Z'), "
		       "('waymark.redirects.v1', 2, 0, NULL), ('waymark.links.v1', 0, 9, NULL)");
	assert_int_equal(statistics_store_as_of(f->api, &as_of_us), OK);
	assert_int_equal(as_of_us, 0);
	test_database_run(f->db, "UPDATE consumer_offsets SET as_of = '2026-01-01T00:00:03Z' "
	                         "WHERE topic = 'waymark.redirects.v1' AND partition = 2");
	assert_int_equal(statistics_store_as_of(f->api, &as_of_us), OK);
	assert_int_equal(as_of_us, INT64_C(1767225601000001));
}

TEST_MAIN(.group_set_up = set_up, .group_tear_down = tear_down, .set_up = truncate_tables)
