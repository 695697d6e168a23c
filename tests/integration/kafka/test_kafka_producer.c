#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdatomic.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/kafka/cloud_event.h"
#include "tests/integration/kafka/kafka_fixture.h"
#include "tests/support/test.h"

#define TIMEOUT_MS TEST_DEADLINE_MS
#define RECORDS_MAX 5000

/* The delivery reports of a producer. */
struct reports {
	_Atomic int ok;
	_Atomic int unavailable;
	_Atomic int other;
	/* Opaque is the record's number + 1. */
	_Atomic int by_record[RECORDS_MAX];
};

static void count_report(void *ctx, void *opaque, enum err result)
{
	struct reports *r = ctx;
	atomic_fetch_add(result == OK                ? &r->ok
	                 : result == ERR_UNAVAILABLE ? &r->unavailable
	                                             : &r->other,
	                 1);
	if (opaque)
		atomic_fetch_add(&r->by_record[(uintptr_t)opaque - 1], 1);
}

struct fixture {
	struct backend_fixture *net;
	struct kafka_producer_config config;
	struct reports reports;
	/* The producer that start has made, until end. */
	struct kafka_producer *p;
	/* Of a test that uses librdkafka's mock cluster. */
	rd_kafka_t *rk;
	rd_kafka_mock_cluster_t *cluster;
};

static int set_up(void **state)
{
	struct fixture *t = mem_zero(sizeof(*t));
	int rc = backend_fixture_set_up((void **)&t->net);
	t->config = (struct kafka_producer_config){
		.kafka = &t->net->kafka,
		.queue_max = 100000,
		.queue_bytes_max = 100 << 20,
		.linger_ms = 1,
		.delivered = count_report,
		.ctx = &t->reports,
		.log = t->net->log,
	};
	*state = t;
	return rc;
}

static struct kafka_producer *start(struct fixture *t)
{
	assert_int_equal(kafka_producer_new(&t->config, &t->p), OK);
	return t->p;
}

static void end(struct fixture *t)
{
	kafka_producer_free(t->p);
	t->p = NULL;
}

static int tear_down(void **state)
{
	struct fixture *t = *state;
	end(t);
	if (t->cluster)
		rd_kafka_mock_cluster_destroy(t->cluster);
	if (t->rk)
		rd_kafka_destroy(t->rk);
	int rc = backend_fixture_tear_down((void **)&t->net);
	free(t);
	return rc;
}

static enum err send_text(struct kafka_producer *p, const char *topic, const char *key,
                          const char *value, uintptr_t opaque)
{
	return kafka_producer_send(p,
	                           &(struct kafka_record){ .topic = topic,
	                                                   .key = key,
	                                                   .key_len = strlen(key),
	                                                   .value = value,
	                                                   .value_len = value ? strlen(value) : 0,
	                                                   .opaque = (void *)opaque });
}

TEST_CASE(delivers_key_value_and_headers)
{
	struct fixture *t = *state;
	kafka_fixture_create_topic(t->net, 1);
	struct kafka_producer *p = start(t);
	static const uint8_t id[ENTROPY_UUID_SIZE] = { 1 };
	struct cloud_event event;
	struct kafka_record record = { .topic = t->net->unique,
		                       .key = "abc",
		                       .key_len = 3,
		                       .value = "payload",
		                       .value_len = 7 };
	cloud_event_headers(&event, id, 0, "waymark.redirect.v1",
	                    "urn:waymark:proto:waymark.v1.RedirectEvent", "/waymark/redirector",
	                    "abc", &record);
	assert_int_equal(kafka_producer_send(p, &record), OK);
	assert_int_equal(send_text(p, t->net->unique, "gone", NULL, 0), OK);
	assert_int_equal(kafka_producer_flush(p, TIMEOUT_MS), OK);
	assert_int_equal(kafka_producer_queued(p), 0);
	assert_int_equal(atomic_load(&t->reports.ok), 2);
	end(t);

	struct kafka_fixture_record got[3];
	assert_int_equal(kafka_fixture_read(t->net->kafka.brokers, t->net->unique, 1, got, 3), 2);
	assert_string_equal(got[0].key, "abc");
	assert_string_equal(got[0].value, "payload");
	assert_int_equal(got[0].header_count, 8);
	assert_string_equal(got[0].headers[0].name, "ce_specversion");
	assert_string_equal(got[0].headers[1].value, "01000000-0000-0000-0000-000000000000");
	assert_string_equal(got[0].headers[5].name, "content-type");
	assert_string_equal(got[0].headers[5].value, "application/protobuf");
	assert_string_equal(got[0].headers[7].name, "ce_dataschema");
	assert_string_equal(got[1].key, "gone");
	assert_string_equal(got[1].value, "(tombstone)");
}

/* librdkafka looks for unknown topics only once a second. */
TEST_CASE(queries_its_topics_before_the_first_record)
{
	enum { PRODUCERS = 4 };
	struct fixture *t = *state;
	int64_t waited_us = 0;
	kafka_fixture_create_topic(t->net, 1);
	for (int i = 0; i < PRODUCERS; i++) {
		t->config.topics[0] = t->net->unique;
		struct kafka_producer *p = start(t);
		backend_fixture_wait(kafka_producer_is_reachable, p, TIMEOUT_MS);
		int64_t began_us = clock_steady_us(clock_system());
		assert_int_equal(send_text(p, t->net->unique, "first", "record", 0), OK);
		assert_int_equal(kafka_producer_flush(p, TIMEOUT_MS), OK);
		waited_us += clock_steady_us(clock_system()) - began_us;
		end(t);
	}
	test_speed_at_most(waited_us, CLOCK_US_PER_S, "us");
}

/* Keys and their hashes from org.apache.kafka.common.utils.UtilsTest. */
static const struct {
	const char *key;
	int32_t murmur2;
} java_hashes[] = {
	{ "21", -973932308 },
	{ "foobar", -790332482 },
	{ "a-little-bit-long-string", -985981536 },
	{ "a-little-bit-longer-string", -1486304829 },
	{ "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971 },
	{ "abc", 479470107 },
};
#define JAVA_HASHES (sizeof(java_hashes) / sizeof(java_hashes[0]))

TEST_CASE(chooses_the_partition_that_java_chooses)
{
	struct fixture *t = *state;
	kafka_fixture_create_topic(t->net, 7);
	struct kafka_producer *p = start(t);
	for (size_t i = 0; i < JAVA_HASHES; i++)
		assert_int_equal(send_text(p, t->net->unique, java_hashes[i].key, "x", 0), OK);
	assert_int_equal(kafka_producer_flush(p, TIMEOUT_MS), OK);
	end(t);
	struct kafka_fixture_record got[JAVA_HASHES + 1];
	assert_int_equal(
		kafka_fixture_read(t->net->kafka.brokers, t->net->unique, 7, got, JAVA_HASHES + 1),
		JAVA_HASHES);
	for (size_t g = 0; g < JAVA_HASHES; g++) {
		size_t i = 0;
		while (strcmp(java_hashes[i].key, got[g].key) != 0)
			i++;
		assert_int_equal(got[g].partition, (java_hashes[i].murmur2 & INT32_MAX) % 7);
	}
}

TEST_CASE(rejects_records_beyond_the_queue_limit)
{
	struct fixture *t = *state;
	snprintf(t->net->kafka.brokers, sizeof(t->net->kafka.brokers), "127.0.0.1:1");
	t->config.queue_max = 10;
	struct kafka_producer *p = start(t);
	for (int i = 0; i < 10; i++)
		assert_int_equal(send_text(p, "t", "k", "v", 0), OK);
	int64_t begun_ms = backend_fixture_now_ms();
	for (int i = 0; i < 1000; i++)
		assert_int_equal(send_text(p, "t", "k", "v", 0), ERR_LIMIT);
	test_speed_at_most(backend_fixture_now_ms() - begun_ms, 1000, "ms");
	assert_int_equal(kafka_producer_queued(p), 10);
	assert_int_equal(kafka_producer_flush(p, 50), ERR_UNAVAILABLE);
	end(t);
	/* Each accepted record gets a report, also when the producer is freed. */
	assert_int_equal(atomic_load(&t->reports.unavailable), 10);
}

TEST_CASE(bounds_the_bytes_of_the_queue)
{
	struct fixture *t = *state;
	snprintf(t->net->kafka.brokers, sizeof(t->net->kafka.brokers), "127.0.0.1:1");
	t->config.queue_bytes_max = 100000;
	struct kafka_producer *p = start(t);
	char *value = mem_zero(60001);
	memset(value, 'v', 60000);
	assert_int_equal(send_text(p, "t", "k", value, 0), OK);
	assert_int_equal(send_text(p, "t", "k", value, 0), ERR_LIMIT);
	assert_int_equal(send_text(p, "t", "k", "small", 0), OK);
	free(value);
	end(t);
	assert_int_equal(atomic_load(&t->reports.unavailable), 2);
}

TEST_CASE(rejects_a_record_that_is_too_large_for_kafka)
{
	struct fixture *t = *state;
	struct kafka_producer *p = start(t);
	char *value = mem_zero(2000001);
	memset(value, 'v', 2000000);
	assert_int_equal(send_text(p, "t", "k", value, 0), ERR_INVALID);
	assert_int_equal(kafka_producer_queued(p), 0);
	free(value);
}

/* Sends records of random bytes, which compression does not make smaller. */
static void send_random(struct kafka_producer *p, const char *topic, const char *key, size_t len)
{
	uint8_t *value = mem_zero(len);
	entropy_fill(value, len);
	const struct kafka_record record = {
		.topic = topic, .key = key, .key_len = strlen(key), .value = value, .value_len = len
	};
	assert_int_equal(kafka_producer_send(p, &record), OK);
	free(value);
}

TEST_CASE(sends_a_batch_again_in_parts_when_the_broker_finds_it_too_large)
{
	struct fixture *t = *state;
	assert_int_equal(kafka_fixture_try_topic(t->net, "max.message.bytes", "3000"),
	                 ERR_CONFLICT);
	t->config.linger_ms = 50;
	struct kafka_producer *p = start(t);
	for (int i = 0; i < 500; i++) {
		send_random(p, t->net->unique, "fits", 400);
		if (i == 250)
			send_random(p, t->net->unique, "too large", 5000);
	}
	assert_int_equal(kafka_producer_flush(p, TIMEOUT_MS), OK);
	end(t);
	assert_int_equal(atomic_load(&t->reports.ok), 500);
	assert_int_equal(atomic_load(&t->reports.other), 1);
}

/* A compacted topic rejects a batch in which one record has no key. */
TEST_CASE(an_invalid_record_does_not_take_its_batch_along)
{
	struct fixture *t = *state;
	assert_int_equal(kafka_fixture_try_topic(t->net, "cleanup.policy", "compact"), OK);
	t->config.linger_ms = 50;
	struct kafka_producer *p = start(t);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(send_text(p, t->net->unique, "key", "valid", 0), OK);
		const struct kafka_record keyless = { .topic = t->net->unique,
			                              .value = "x",
			                              .value_len = 1 };
		if (i == 50)
			assert_int_equal(kafka_producer_send(p, &keyless), OK);
	}
	assert_int_equal(kafka_producer_flush(p, TIMEOUT_MS), OK);
	end(t);
	assert_int_equal(atomic_load(&t->reports.ok), 100);
	assert_int_equal(atomic_load(&t->reports.other), 1);
}

TEST_CASE(drops_a_record_after_its_timeout)
{
	struct fixture *t = *state;
	snprintf(t->net->kafka.brokers, sizeof(t->net->kafka.brokers), "127.0.0.1:1");
	t->config.message_timeout_ms = 300;
	struct kafka_producer *p = start(t);
	assert_int_equal(send_text(p, "t", "k", "v", 0), OK);
	assert_int_equal(kafka_producer_flush(p, TIMEOUT_MS), OK);
	assert_int_equal(atomic_load(&t->reports.unavailable), 1);
}

TEST_CASE(rejects_invalid_settings_without_logging_their_values)
{
	struct fixture *t = *state;
	struct kafka_producer *p = NULL;
	snprintf(t->net->kafka.security_protocol, sizeof(t->net->kafka.security_protocol),
	         "sesame");
	assert_int_equal(kafka_producer_new(&t->config, &p), ERR_INVALID);
	assert_null(p);
	assert_int_equal(backend_fixture_logged(t->net, "security.protocol"), 1);
	assert_int_equal(backend_fixture_logged(t->net, "sesame"), 0);
}

static bool is_unreachable(void *p)
{
	return !kafka_producer_is_reachable(p);
}

TEST_CASE(reports_whether_a_broker_is_connected)
{
	struct fixture *t = *state;
	struct kafka_producer *p = start(t);
	backend_fixture_wait(kafka_producer_is_reachable, p, TIMEOUT_MS);
	end(t);
	struct kafka_config nowhere = { .brokers = "127.0.0.1:1" };
	t->config.kafka = &nowhere;
	p = start(t);
	assert_true(is_unreachable(p));
}

/* --- with librdkafka's mock cluster, which fails on demand --- */

static struct kafka_producer *start_with_mock(struct fixture *t)
{
	char why[256];
	t->rk = rd_kafka_new(RD_KAFKA_PRODUCER, NULL, why, sizeof(why));
	assert_non_null(t->rk);
	t->cluster = rd_kafka_mock_cluster_new(t->rk, 1);
	assert_non_null(t->cluster);
	assert_int_equal(rd_kafka_mock_topic_create(t->cluster, t->net->unique, 1, 1),
	                 RD_KAFKA_RESP_ERR_NO_ERROR);
	snprintf(t->net->kafka.brokers, sizeof(t->net->kafka.brokers), "%s",
	         rd_kafka_mock_cluster_bootstraps(t->cluster));
	return start(t);
}

static void send_numbered(const struct fixture *t, int from, int to)
{
	for (int i = from; i < to; i++) {
		char value[16];
		snprintf(value, sizeof(value), "%d", i);
		assert_int_equal(send_text(t->p, t->net->unique, "key", value, (uintptr_t)i + 1),
		                 OK);
	}
}

/* Checks that every number arrived, and that the first copies are in order. */
static void expect_all_in_order(const struct fixture *t, int count)
{
	struct kafka_fixture_record *got = mem_array(RECORDS_MAX * 4, sizeof(*got));
	size_t n =
		kafka_fixture_read(t->net->kafka.brokers, t->net->unique, 1, got, RECORDS_MAX * 4);
	int next = 0;
	for (size_t i = 0; i < n; i++) {
		int number = (int)strtol(got[i].value, NULL, 10);
		if (number > next)
			fail_msg("%d came where at most %d should have", number, next);
		next += number == next;
	}
	assert_int_equal(next, count);
	free(got);
}

static void expect_one_report_each(const struct fixture *t, int count)
{
	assert_int_equal(atomic_load(&t->reports.ok), count);
	for (int i = 0; i < count; i++)
		assert_int_equal(atomic_load(&t->reports.by_record[i]), 1);
}

TEST_CASE(resends_in_order_after_a_fatal_error)
{
	struct fixture *t = *state;
	struct kafka_producer *p = start_with_mock(t);
	send_numbered(t, 0, 100);
	assert_int_equal(kafka_producer_flush(p, TIMEOUT_MS), OK);
	/* librdkafka cannot recover from a sequence number that the broker does not expect. */
	rd_kafka_mock_push_request_errors(t->cluster, 0 /* Produce */, 1,
	                                  RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
	send_numbered(t, 100, 3000);
	assert_int_equal(kafka_producer_flush(p, TIMEOUT_MS), OK);
	assert_in_range(backend_fixture_logged(t->net, "kafka_producer_failed"), 1, 10);
	assert_in_range(backend_fixture_logged(t->net, "kafka_producer_restarted"), 1, 10);
	send_numbered(t, 3000, 3100);
	assert_int_equal(kafka_producer_flush(p, TIMEOUT_MS), OK);
	end(t);
	expect_one_report_each(t, 3100);
	expect_all_in_order(t, 3100);
}

TEST_CASE(resends_what_a_broker_rejects_temporarily)
{
	struct fixture *t = *state;
	struct kafka_producer *p = start_with_mock(t);
	rd_kafka_mock_push_request_errors(t->cluster, 0 /* Produce */, 2,
	                                  RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
	                                  RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
	send_numbered(t, 0, 500);
	assert_int_equal(kafka_producer_flush(p, TIMEOUT_MS), OK);
	end(t);
	expect_one_report_each(t, 500);
	expect_all_in_order(t, 500);
}

/* The record is rejected in batches of every size, the last time alone. */
TEST_CASE(reports_what_a_broker_rejects_permanently)
{
	enum { BATCH_SIZES = 5 };
	struct fixture *t = *state;
	struct kafka_producer *p = start_with_mock(t);
	for (int i = 0; i < BATCH_SIZES; i++)
		rd_kafka_mock_push_request_errors(t->cluster, 0 /* Produce */, 1,
		                                  RD_KAFKA_RESP_ERR_INVALID_RECORD);
	send_numbered(t, 0, 1);
	assert_int_equal(kafka_producer_flush(p, TIMEOUT_MS), OK);
	assert_int_equal(atomic_load(&t->reports.other), 1);
}

TEST_CASE(detects_a_frozen_broker)
{
	struct fixture *t = *state;
	struct kafka_producer *p = start_with_mock(t);
	send_numbered(t, 0, 1);
	assert_int_equal(kafka_producer_flush(p, TIMEOUT_MS), OK);
	assert_true(kafka_producer_is_reachable(p));
	rd_kafka_mock_broker_set_rtt(t->cluster, 1, 20000);
	send_numbered(t, 1, 2);
	backend_fixture_wait(is_unreachable, p, TEST_DEADLINE_MS);
	rd_kafka_mock_broker_set_rtt(t->cluster, 1, 0);
}

TEST_CASE(loses_nothing_while_the_broker_is_down)
{
	struct fixture *t = *state;
	struct kafka_producer *p = start_with_mock(t);
	send_numbered(t, 0, 100);
	rd_kafka_mock_broker_set_down(t->cluster, 1);
	send_numbered(t, 100, 1000);
	backend_fixture_wait(is_unreachable, p, TIMEOUT_MS);
	assert_in_range(kafka_producer_queued(p), 900, 1000);
	rd_kafka_mock_broker_set_up(t->cluster, 1);
	assert_int_equal(kafka_producer_flush(p, TIMEOUT_MS), OK);
	end(t);
	expect_one_report_each(t, 1000);
	expect_all_in_order(t, 1000);
}

TEST_MAIN(.set_up = set_up, .tear_down = tear_down)
