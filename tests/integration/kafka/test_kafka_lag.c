#include "lib/kafka/kafka_lag.h"

#include <librdkafka/rdkafka.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/entropy.h"
#include "tests/integration/kafka/kafka_fixture.h"
#include "tests/support/test.h"

/* Kafka's batch, which is read as a whole. */
#define RECORDS_OF_A_BATCH 10
#define RECORD_BYTES 2000

/* A record begins with the number of its events. */
static size_t count_events(const void *value, size_t len)
{
	assert_int_equal(len, RECORD_BYTES);
	return strtoul(value, NULL, 10);
}

/* A group and what is measured of it. */
struct watched {
	const struct backend_fixture *fixture;
	struct metrics *metrics;
	struct metric *gauge;
	struct kafka_lag *lag;
	/* A client of the group. */
	rd_kafka_t *client;
};

static void start_at(struct watched *w, const struct backend_fixture *f,
                     const struct kafka_config *kafka)
{
	*w = (struct watched){ .fixture = f, .metrics = metrics_new() };
	w->gauge = metrics_gauge(w->metrics, "lag", "Events that wait.", NULL);
	metrics_set(w->gauge, 42);
	const struct kafka_lag_config config = { .kafka = kafka,
		                                 .group = f->unique,
		                                 .topic = f->unique,
		                                 .count = count_events,
		                                 .gauge = w->gauge,
		                                 .log = f->log };
	assert_int_equal(kafka_lag_start(&config, &w->lag), OK);
}

static void start(struct watched *w, const struct backend_fixture *f)
{
	char why[256];
	start_at(w, f, &f->kafka);
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	assert_int_equal(
		rd_kafka_conf_set(conf, "bootstrap.servers", f->kafka.brokers, why, sizeof(why)),
		RD_KAFKA_CONF_OK);
	assert_int_equal(rd_kafka_conf_set(conf, "group.id", f->unique, why, sizeof(why)),
	                 RD_KAFKA_CONF_OK);
	w->client = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof(why));
	assert_non_null(w->client);
}

static void stop(struct watched *w)
{
	kafka_lag_stop(w->lag);
	if (w->client)
		rd_kafka_destroy(w->client);
	metrics_free(w->metrics);
}

static void commit(const struct watched *w, int32_t partition, int64_t offset)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, w->fixture->unique, partition)->offset = offset;
	assert_int_equal(rd_kafka_commit(w->client, list, 0), RD_KAFKA_RESP_ERR_NO_ERROR);
	rd_kafka_topic_partition_list_destroy(list);
}

/* RD_KAFKA_OFFSET_INVALID: nothing. */
static int64_t committed(const struct watched *w, int32_t partition)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, w->fixture->unique, partition);
	assert_int_equal(rd_kafka_committed(w->client, list, TEST_DEADLINE_MS),
	                 RD_KAFKA_RESP_ERR_NO_ERROR);
	int64_t offset = list->elems[0].offset;
	rd_kafka_topic_partition_list_destroy(list);
	return offset;
}

/* Appends count records of so many events each. */
static void fill(const struct backend_fixture *f, int32_t partition, int count, int events)
{
	struct kafka_producer *p = NULL;
	const struct kafka_producer_config config = { .kafka = &f->kafka,
		                                      .queue_max = 1000,
		                                      .queue_bytes_max = 1 << 20,
		                                      .linger_ms = 1,
		                                      .log = f->log };
	assert_int_equal(kafka_producer_new(&config, &p), OK);
	for (int i = 0; i < count; i++) {
		/* Random, so that compression saves nothing. */
		char value[RECORD_BYTES];
		entropy_fill(value, sizeof(value));
		snprintf(value, sizeof(value), "%d", events);
		const struct kafka_record record = { .topic = f->unique,
			                             .value = value,
			                             .value_len = sizeof(value),
			                             .has_partition = true,
			                             .partition = partition };
		assert_int_equal(kafka_producer_send(p, &record), OK);
		if (i % RECORDS_OF_A_BATCH == RECORDS_OF_A_BATCH - 1)
			assert_int_equal(kafka_producer_flush(p, TEST_DEADLINE_MS), OK);
	}
	assert_int_equal(kafka_producer_flush(p, TEST_DEADLINE_MS), OK);
	kafka_producer_free(p);
}

static void wait_for(const struct watched *w, int64_t wanted, int64_t tolerance)
{
	int64_t until_ms = backend_fixture_now_ms() + TEST_DEADLINE_MS;
	while (llabs(metrics_value(w->gauge) - wanted) > tolerance) {
		if (backend_fixture_now_ms() > until_ms)
			fail_msg("the lag is %lld, wanted %lld", (long long)metrics_value(w->gauge),
			         (long long)wanted);
		poll(NULL, 0, 10);
	}
}

TEST_CASE(measures_the_events_of_records_of_any_density)
{
	const struct backend_fixture *f = *state;
	struct watched w;
	kafka_fixture_create_topic(f, 3);
	fill(f, 0, 700, 1);
	fill(f, 0, 700, 100);
	fill(f, 0, 600, 1000);
	fill(f, 1, 3, 7);
	start(&w, f);
	wait_for(&w, 670721, 670721 / 50);
	/* It commits nothing itself. */
	assert_int_equal(committed(&w, 0), RD_KAFKA_OFFSET_INVALID);

	commit(&w, 0, 1000);
	wait_for(&w, 640021, 640021 / 50);
	commit(&w, 0, 1990);
	wait_for(&w, 10021, 0);
	kafka_fixture_delete_before(f, f->unique, 0, 1995);
	wait_for(&w, 5021, 0);
	fill(f, 1, 20, 30);
	wait_for(&w, 5621, 0);
	commit(&w, 0, 2000);
	commit(&w, 1, 22);
	wait_for(&w, 30, 0);
	stop(&w);
}

TEST_CASE(measures_a_topic_that_was_created_again)
{
	const struct backend_fixture *f = *state;
	struct watched w;
	kafka_fixture_create_topic(f, 1);
	fill(f, 0, 100, 1000);
	start(&w, f);
	wait_for(&w, 100000, 0);
	kafka_fixture_delete_topic(f);
	kafka_fixture_create_topic(f, 2);
	fill(f, 0, 50, 1);
	fill(f, 1, 2, 9);
	wait_for(&w, 68, 0);
	stop(&w);
}

TEST_CASE(keeps_the_last_value_while_no_broker_responds)
{
	const struct backend_fixture *f = *state;
	struct kafka_config nowhere = f->kafka;
	struct watched w;
	snprintf(nowhere.brokers, sizeof(nowhere.brokers), "127.0.0.1:1");
	start_at(&w, f, &nowhere);
	int64_t until_ms = backend_fixture_now_ms() + TEST_DEADLINE_MS;
	while (backend_fixture_logged(f, "kafka_unreachable") == 0) {
		assert_true(backend_fixture_now_ms() < until_ms);
		poll(NULL, 0, 10);
	}
	assert_int_equal(metrics_value(w.gauge), 42);
	stop(&w);
}

TEST_MAIN(.set_up = backend_fixture_set_up, .tear_down = backend_fixture_tear_down)
