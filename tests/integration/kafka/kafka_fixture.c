#include "tests/integration/kafka/kafka_fixture.h"

#include <librdkafka/rdkafka.h>
#include <poll.h>
#include <stdint.h>

#include "tests/support/test.h"
#include "tools/topics/kafka_topics.h"

#define TIMEOUT_MS TEST_DEADLINE_MS

static void skip_without_kafka(void)
{
	const char *broker = getenv("BROKER");
	if (broker && strcmp(broker, "embedded") == 0) {
		print_message(
			"skipped: the embedded broker cannot create topics; this test needs Apache Kafka\n");
		skip();
	}
}

static enum err ensure(const struct backend_fixture *f, struct kafka_topic topic)
{
	skip_without_kafka();
	snprintf(topic.name, sizeof(topic.name), "%s", f->unique);
	const struct kafka_topics_config config = {
		.kafka = &f->kafka, .replication = -1, .timeout_ms = TIMEOUT_MS, .log = f->log
	};
	return kafka_topics_ensure(&config, &topic, 1);
}

void kafka_fixture_create_topic(const struct backend_fixture *f, int32_t partitions)
{
	const struct kafka_topic topic = { .partitions = partitions };
	int64_t until_ms = backend_fixture_now_ms() + TIMEOUT_MS;
	enum err err;
	/* The brokers may still name a topic that was deleted a moment ago. */
	while ((err = ensure(f, topic)) == ERR_CONFLICT && backend_fixture_now_ms() < until_ms)
		poll(NULL, 0, 50);
	assert_int_equal(err, OK);
}

enum err kafka_fixture_try_topic(const struct backend_fixture *f, const char *setting,
                                 const char *value)
{
	struct kafka_topic topic = { .partitions = 1, .setting_count = 1 };
	snprintf(topic.settings[0].name, sizeof(topic.settings[0].name), "%s", setting);
	snprintf(topic.settings[0].value, sizeof(topic.settings[0].value), "%s", value);
	return ensure(f, topic);
}

void kafka_fixture_fill(const struct backend_fixture *f, const char *prefix, int count)
{
	struct kafka_producer *p = NULL;
	const struct kafka_producer_config config = { .kafka = &f->kafka,
		                                      .queue_max = 100000,
		                                      .queue_bytes_max = 100 << 20,
		                                      .linger_ms = 1,
		                                      .log = f->log };
	assert_int_equal(kafka_producer_new(&config, &p), OK);
	for (int i = 0; i < count; i++) {
		char text[64];
		int len = snprintf(text, sizeof(text), "%s%d", prefix, i);
		const struct kafka_record record = { .topic = f->unique,
			                             .key = text,
			                             .key_len = (size_t)len,
			                             .value = text,
			                             .value_len = (size_t)len };
		assert_int_equal(kafka_producer_send(p, &record), OK);
	}
	assert_int_equal(kafka_producer_flush(p, TIMEOUT_MS), OK);
	kafka_producer_free(p);
}

static enum err start_at_beginning(void *ctx, const int32_t *partitions, size_t count,
                                   int64_t *offsets)
{
	(void)ctx;
	(void)partitions;
	for (size_t i = 0; i < count; i++)
		offsets[i] = KAFKA_CONSUMER_BEGINNING;
	return OK;
}

static void ignore_revoked(void *ctx, bool lost)
{
	(void)ctx;
	(void)lost;
}

static void fail_out_of_range(void *ctx, int32_t partition, int64_t offset)
{
	(void)ctx;
	fail_msg("partition %d has no offset %lld", (int)partition, (long long)offset);
}

const struct kafka_consumer_events kafka_fixture_from_the_beginning = { start_at_beginning,
	                                                                ignore_revoked,
	                                                                fail_out_of_range };

static void copy_headers(const rd_kafka_message_t *m, struct kafka_fixture_record *out)
{
	rd_kafka_headers_t *headers = NULL;
	if (rd_kafka_message_headers(m, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	const char *name = NULL;
	const void *value = NULL;
	size_t len = 0;
	while (out->header_count < KAFKA_HEADERS_MAX &&
	       rd_kafka_header_get_all(headers, out->header_count, &name, &value, &len) ==
	               RD_KAFKA_RESP_ERR_NO_ERROR) {
		snprintf(out->headers[out->header_count].name, sizeof(out->headers[0].name), "%s",
		         name);
		snprintf(out->headers[out->header_count].value, sizeof(out->headers[0].value),
		         "%.*s", (int)len, (const char *)value);
		out->header_count++;
	}
}

static void copy(const rd_kafka_message_t *m, struct kafka_fixture_record *out)
{
	*out = (struct kafka_fixture_record){ .partition = m->partition, .offset = m->offset };
	snprintf(out->key, sizeof(out->key), "%.*s", (int)m->key_len,
	         m->key ? (const char *)m->key : "");
	if (m->payload)
		snprintf(out->value, sizeof(out->value), "%.*s", (int)m->len,
		         (const char *)m->payload);
	else
		snprintf(out->value, sizeof(out->value), "(tombstone)");
	copy_headers(m, out);
}

static size_t read_partition(rd_kafka_t *rk, const char *topic, int32_t partition,
                             struct kafka_fixture_record *out, size_t max)
{
	rd_kafka_topic_t *t = rd_kafka_topic_new(rk, topic, NULL);
	assert_int_equal(rd_kafka_consume_start(t, partition, RD_KAFKA_OFFSET_BEGINNING), 0);
	size_t count = 0;
	int64_t until_ms = backend_fixture_now_ms() + TIMEOUT_MS;
	for (bool end = false; !end && count < max;) {
		assert_true(backend_fixture_now_ms() < until_ms);
		rd_kafka_message_t *m = rd_kafka_consume(t, partition, 100);
		if (!m)
			continue;
		end = m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
		if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR)
			copy(m, &out[count++]);
		rd_kafka_message_destroy(m);
	}
	rd_kafka_consume_stop(t, partition);
	rd_kafka_topic_destroy(t);
	return count;
}

size_t kafka_fixture_read(const char *brokers, const char *topic, int32_t partitions,
                          struct kafka_fixture_record *out, size_t max)
{
	char why[256];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	assert_int_equal(rd_kafka_conf_set(conf, "bootstrap.servers", brokers, why, sizeof(why)),
	                 RD_KAFKA_CONF_OK);
	assert_int_equal(rd_kafka_conf_set(conf, "enable.partition.eof", "true", why, sizeof(why)),
	                 RD_KAFKA_CONF_OK);
	rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof(why));
	assert_non_null(rk);
	size_t count = 0;
	for (int32_t p = 0; p < partitions && count < max; p++)
		count += read_partition(rk, topic, p, out + count, max - count);
	rd_kafka_destroy(rk);
	return count;
}

static rd_kafka_t *new_admin(const struct backend_fixture *f)
{
	char problem[256] = "";
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	assert_int_equal(rd_kafka_conf_set(conf, "bootstrap.servers", f->kafka.brokers, problem,
	                                   sizeof(problem)),
	                 RD_KAFKA_CONF_OK);
	rd_kafka_t *client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, problem, sizeof(problem));
	assert_non_null(client);
	return client;
}

/* Waits for the answer to a request, and releases its queue. */
static void await_admin(rd_kafka_queue_t *queue)
{
	rd_kafka_event_t *event = rd_kafka_queue_poll(queue, TIMEOUT_MS);
	assert_non_null(event);
	assert_int_equal(rd_kafka_event_error(event), RD_KAFKA_RESP_ERR_NO_ERROR);
	rd_kafka_event_destroy(event);
	rd_kafka_queue_destroy(queue);
}

/* The broker answers the request for more partitions before it names them to producers. */
static void await_partitions(rd_kafka_t *rk, const char *topic, int wanted)
{
	int64_t until_ms = backend_fixture_now_ms() + TIMEOUT_MS;
	rd_kafka_topic_t *handle = rd_kafka_topic_new(rk, topic, NULL);
	for (int count = 0; count != wanted;) {
		const struct rd_kafka_metadata *metadata = NULL;
		assert_true(backend_fixture_now_ms() < until_ms);
		assert_int_equal(rd_kafka_metadata(rk, 0, handle, &metadata, TIMEOUT_MS),
		                 RD_KAFKA_RESP_ERR_NO_ERROR);
		count = metadata->topics[0].partition_cnt;
		rd_kafka_metadata_destroy(metadata);
	}
	rd_kafka_topic_destroy(handle);
}

void kafka_fixture_add_partitions(const struct backend_fixture *f, int32_t count)
{
	char problem[256] = "";
	rd_kafka_t *client = new_admin(f);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(client);
	rd_kafka_NewPartitions_t *more =
		rd_kafka_NewPartitions_new(f->unique, (size_t)count, problem, sizeof(problem));
	assert_non_null(more);
	rd_kafka_CreatePartitions(client, &more, 1, NULL, queue);
	await_admin(queue);
	rd_kafka_NewPartitions_destroy(more);
	await_partitions(client, f->unique, count);
	rd_kafka_destroy(client);
}

void kafka_fixture_delete_topic(const struct backend_fixture *f)
{
	rd_kafka_t *client = new_admin(f);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(client);
	rd_kafka_DeleteTopic_t *topic = rd_kafka_DeleteTopic_new(f->unique);
	rd_kafka_DeleteTopics(client, &topic, 1, NULL, queue);
	await_admin(queue);
	rd_kafka_DeleteTopic_destroy(topic);
	rd_kafka_destroy(client);
}

void kafka_fixture_delete_before(const struct backend_fixture *f, const char *topic,
                                 int32_t partition, int64_t offset)
{
	rd_kafka_t *client = new_admin(f);
	rd_kafka_topic_partition_list_t *offsets = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(offsets, topic, partition)->offset = offset;
	rd_kafka_DeleteRecords_t *deletion = rd_kafka_DeleteRecords_new(offsets);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(client);
	rd_kafka_DeleteRecords(client, &deletion, 1, NULL, queue);
	rd_kafka_event_t *event = rd_kafka_queue_poll(queue, TIMEOUT_MS);
	assert_non_null(event);
	assert_int_equal(rd_kafka_event_error(event), RD_KAFKA_RESP_ERR_NO_ERROR);
	const rd_kafka_topic_partition_list_t *deleted =
		rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event));
	assert_int_equal(deleted->elems[0].err, RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(deleted->elems[0].offset, offset);
	rd_kafka_event_destroy(event);
	rd_kafka_queue_destroy(queue);
	rd_kafka_DeleteRecords_destroy(deletion);
	rd_kafka_topic_partition_list_destroy(offsets);
	rd_kafka_destroy(client);
}
