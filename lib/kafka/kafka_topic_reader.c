/*
 * A consumer group does not fit here: a group.id that no process shares would leave state on the
 * brokers. So the partitions are read with librdkafka's simple API, rd_kafka_consume_start_queue,
 * into one queue.
 */
#include "lib/kafka/kafka_topic_reader.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/kafka/kafka_client.h"

#define REFRESH_MS 5000
#define REFRESH_RETRY_MS 250
#define METADATA_TIMEOUT_MS 250

struct topic {
	/* NULL: there is no such topic in the configuration. */
	rd_kafka_topic_t *handle;
	/* Number of partitions that are read. */
	int32_t partitions;
	/* All partitions of the first look are read. */
	bool has_found;
	/* Steady. */
	int64_t refresh_us;
};

struct kafka_topic_reader {
	/* First: it is librdkafka's opaque. */
	struct kafka_client client;
	struct kafka_topic_reader_config config;
	rd_kafka_t *rk;
	struct topic topics[KAFKA_TOPIC_READER_TOPICS_MAX];
	rd_kafka_queue_t *queue;
	rd_kafka_message_t *borrowed;
	bool failed;
};

static void on_fatal(struct kafka_client *client)
{
	struct kafka_topic_reader *reader = (struct kafka_topic_reader *)client;
	log_error(client->log, "kafka_topic_reader_failed");
	reader->failed = true;
}

static enum err open_queue(struct kafka_topic_reader *reader, const struct kafka_config *kafka)
{
	const struct kafka_setting settings[] = {
		{ "enable.auto.commit", "false" },
		{ "enable.auto.offset.store", "false" },
		{ "auto.offset.reset", "error" },
		{ "enable.partition.eof", "true" },
		/* Low latency matters more here than large fetches. */
		{ "fetch.wait.max.ms", "100" },
		{ "fetch.error.backoff.ms", "100" },
		{ "queued.max.messages.kbytes", "16384" },
	};
	rd_kafka_conf_t *conf = NULL;
	enum err err = kafka_client_configure(&reader->client, kafka, settings,
	                                      ARRAY_SIZE(settings), &conf);
	if (err != OK)
		return err;
	reader->rk = kafka_client_open(&reader->client, RD_KAFKA_CONSUMER, conf);
	if (!reader->rk)
		return ERR_INVALID;
	reader->queue = rd_kafka_queue_new(reader->rk);
	for (int t = 0; t < KAFKA_TOPIC_READER_TOPICS_MAX && reader->config.topics[t]; t++) {
		reader->topics[t].handle =
			rd_kafka_topic_new(reader->rk, reader->config.topics[t], NULL);
		if (!reader->topics[t].handle)
			return ERR_INVALID;
	}
	return OK;
}

enum err kafka_topic_reader_new(const struct kafka_topic_reader_config *config,
                                struct kafka_topic_reader **out)
{
	struct kafka_topic_reader *reader = mem_zero(sizeof(*reader));
	reader->config = *config;
	reader->client.log = config->log;
	reader->client.on_fatal = on_fatal;
	enum err err = open_queue(reader, config->kafka);
	reader->config.kafka = NULL;
	if (err == OK)
		*out = reader;
	else
		kafka_topic_reader_free(reader);
	return err;
}

static void release_borrowed(struct kafka_topic_reader *reader)
{
	if (reader->borrowed)
		rd_kafka_message_destroy(reader->borrowed);
	reader->borrowed = NULL;
}

void kafka_topic_reader_free(struct kafka_topic_reader *reader)
{
	if (!reader)
		return;
	release_borrowed(reader);
	for (int t = 0; t < KAFKA_TOPIC_READER_TOPICS_MAX && reader->topics[t].handle; t++) {
		for (int32_t p = 0; p < reader->topics[t].partitions; p++)
			rd_kafka_consume_stop(reader->topics[t].handle, p);
		rd_kafka_topic_destroy(reader->topics[t].handle);
	}
	if (reader->queue)
		rd_kafka_queue_destroy(reader->queue);
	if (reader->rk)
		rd_kafka_destroy(reader->rk);
	free(reader);
}

static bool start_partition(struct kafka_topic_reader *reader, int topic, int32_t partition,
                            int64_t offset)
{
	if (rd_kafka_consume_start_queue(reader->topics[topic].handle, partition, offset,
	                                 reader->queue) == 0)
		return true;
	log_warning(reader->client.log, "kafka_topic_reader_start_failed",
	            LOG_TEXT("topic", reader->config.topics[topic]),
	            LOG_INT("partition", partition),
	            LOG_TEXT("message", rd_kafka_err2str(rd_kafka_last_error())));
	return false;
}

/* ERR_UNAVAILABLE: the brokers did not say. */
static enum err find_tail(struct kafka_topic_reader *reader, int topic, int32_t partition,
                          int64_t *offset)
{
	int64_t low, high;
	if (rd_kafka_query_watermark_offsets(reader->rk, reader->config.topics[topic], partition,
	                                     &low, &high, METADATA_TIMEOUT_MS) != 0)
		return ERR_UNAVAILABLE;
	*offset = high - low > reader->config.tail ? high - reader->config.tail : low;
	return OK;
}

/* Where reading begins: at the first look at the end or before it, later at the beginning. */
static bool start_found(struct kafka_topic_reader *reader, int topic, int32_t partition,
                        bool is_first_look)
{
	int64_t offset = is_first_look ? RD_KAFKA_OFFSET_END : RD_KAFKA_OFFSET_BEGINNING;
	if (is_first_look && reader->config.tail > 0 &&
	    find_tail(reader, topic, partition, &offset) != OK)
		return false;
	return start_partition(reader, topic, partition, offset);
}

static void refresh_partitions(struct kafka_topic_reader *reader, int topic)
{
	struct topic *t = &reader->topics[topic];
	int64_t now_us = clock_steady_us(clock_system());
	if (now_us < t->refresh_us)
		return;
	int32_t count = 0;
	bool is_known = kafka_client_count_partitions(&reader->client, reader->rk, t->handle,
	                                              METADATA_TIMEOUT_MS,
	                                              &count) == RD_KAFKA_RESP_ERR_NO_ERROR;
	int64_t pause_ms = is_known || t->partitions > 0 ? REFRESH_MS : REFRESH_RETRY_MS;
	t->refresh_us = now_us + pause_ms * CLOCK_US_PER_MS;
	if (count <= t->partitions)
		return;
	bool is_first_look = !t->has_found;
	while (t->partitions < count && start_found(reader, topic, t->partitions, is_first_look))
		t->partitions++;
	if (t->partitions < count) {
		t->refresh_us = now_us + REFRESH_RETRY_MS * CLOCK_US_PER_MS;
		return;
	}
	t->has_found = true;
	log_info(reader->client.log, "kafka_topic_reader_started",
	         LOG_TEXT("topic", reader->config.topics[topic]), LOG_INT("partitions", count));
	reader->config.events.found(reader->config.ctx, topic, count);
}

void kafka_topic_reader_skip_to_end(struct kafka_topic_reader *reader, int topic, int32_t partition)
{
	log_warning(reader->client.log, "kafka_topic_reader_offset_lost",
	            LOG_TEXT("topic", reader->config.topics[topic]),
	            LOG_INT("partition", partition));
	reader->config.events.lost(reader->config.ctx, topic, partition);
	rd_kafka_consume_stop(reader->topics[topic].handle, partition);
	start_partition(reader, topic, partition, RD_KAFKA_OFFSET_END);
}

/* -1: none of ours, as in an error that concerns no topic. */
static int topic_of(const struct kafka_topic_reader *reader, const rd_kafka_message_t *m)
{
	if (!m->rkt)
		return -1;
	for (int t = 0; t < KAFKA_TOPIC_READER_TOPICS_MAX && reader->config.topics[t]; t++)
		if (strcmp(rd_kafka_topic_name(m->rkt), reader->config.topics[t]) == 0)
			return t;
	return -1;
}

/* Handles what librdkafka returns in place of a record. */
static void handle_error(struct kafka_topic_reader *reader, int topic, const rd_kafka_message_t *m)
{
	bool is_known_partition =
		topic >= 0 && m->partition >= 0 && m->partition < reader->topics[topic].partitions;
	const struct kafka_topic_reader_events *events = &reader->config.events;
	switch (m->err) {
	case RD_KAFKA_RESP_ERR__PARTITION_EOF:
		if (is_known_partition && events->at_end)
			events->at_end(reader->config.ctx, topic, m->partition, m->offset);
		break;
	case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
	case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
	case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
	case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
		if (is_known_partition)
			kafka_topic_reader_skip_to_end(reader, topic, m->partition);
		break;
	default:
		if (kafka_client_is_unauthorized(&reader->client, m->err,
		                                 reader->config.topics[topic < 0 ? 0 : topic]))
			break;
		/* Transient: librdkafka continues by itself at the same offset. */
		log_debug(reader->client.log, "kafka_topic_reader_error",
		          LOG_TEXT("message", rd_kafka_message_errstr(m)));
		break;
	}
}

static enum err no_record(const struct kafka_topic_reader *reader)
{
	if (reader->failed)
		return ERR_INTERNAL;
	return atomic_load(&reader->client.reachable) ? ERR_NOT_FOUND : ERR_UNAVAILABLE;
}

enum err kafka_topic_reader_poll(struct kafka_topic_reader *reader, int64_t timeout_ms,
                                 struct kafka_message *message)
{
	release_borrowed(reader);
	rd_kafka_poll(reader->rk, 0);
	for (int t = 0; t < KAFKA_TOPIC_READER_TOPICS_MAX && reader->config.topics[t]; t++)
		refresh_partitions(reader, t);
	rd_kafka_message_t *m = rd_kafka_consume_queue(reader->queue, (int)timeout_ms);
	if (!m)
		return no_record(reader);
	reader->borrowed = m;
	int topic = topic_of(reader, m);
	if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
		handle_error(reader, topic, m);
		return no_record(reader);
	}
	kafka_message_fill(message, m);
	message->topic = topic;
	return OK;
}

enum err kafka_topic_reader_query_ends(struct kafka_topic_reader *reader, int topic,
                                       int64_t timeout_ms, int64_t *ends, int32_t max,
                                       int32_t *partitions)
{
	int32_t count = 0;
	if (kafka_client_count_partitions(&reader->client, reader->rk, reader->topics[topic].handle,
	                                  timeout_ms, &count) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return ERR_UNAVAILABLE;
	if (count > max)
		return ERR_LIMIT;
	enum err err = kafka_client_query_offsets(reader->rk, reader->config.topics[topic], count,
	                                          RD_KAFKA_OFFSET_END, timeout_ms, ends);
	if (err == OK)
		*partitions = count;
	return err;
}

void kafka_topic_reader_refresh(struct kafka_topic_reader *reader)
{
	for (int t = 0; t < KAFKA_TOPIC_READER_TOPICS_MAX; t++)
		reader->topics[t].refresh_us = 0;
}
