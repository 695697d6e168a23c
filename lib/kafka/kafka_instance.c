#include "lib/kafka/kafka_instance.h"

#include <stdint.h>
#include <stdio.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"

#define PURGE_WAIT_MS 1000
/* Room for what a restart sends again on top of the producer's own ceilings. */
#define RECORDS_SPARE 1000
/* 1,000,000 bytes, 125,000, 15,625, 1,953, and then one record for each batch. */
#define BATCH_DIVISOR 8
#define BATCH_BYTES_MIN 1000

static enum err configure(struct kafka_client *client, const struct kafka_config *kafka,
                          const struct kafka_producer_config *limits, size_t batch_bytes,
                          rd_kafka_conf_t **out)
{
	char linger[24], timeout[24], messages[24], kbytes[24], batch[24], record[24];
	/* The producer enforces its ceilings; librdkafka's only have to be wider. */
	size_t most = limits->queue_max + RECORDS_SPARE;
	size_t most_kbytes = limits->queue_bytes_max / 1024 * 2 + 1024;
	snprintf(linger, sizeof(linger), "%lld", (long long)limits->linger_ms);
	snprintf(timeout, sizeof(timeout), "%lld", (long long)limits->message_timeout_ms);
	snprintf(messages, sizeof(messages), "%zu", most);
	snprintf(kbytes, sizeof(kbytes), "%zu", most_kbytes);
	snprintf(batch, sizeof(batch), "%zu", batch_bytes);
	snprintf(record, sizeof(record), "%d", KAFKA_PRODUCER_BATCH_BYTES_MAX);
	const struct kafka_setting settings[] = {
		{ "enable.idempotence", "true" },
		{ "acks", "all" },
		/*
		 * Prevents a loss. A broker that does not lead a partition yet rejects a producer's
		 * first batch and may accept the second a moment later, whatever its sequence. The
		 * first then counts as a duplicate, and librdkafka reports it as delivered. One
		 * request at a time keeps the order and has no measurable cost.
		 */
		{ "max.in.flight.requests.per.connection", "1" },
		{ "compression.codec", "lz4" },
		{ "partitioner", "murmur2_random" },
		{ "linger.ms", linger },
		{ "message.timeout.ms", timeout },
		{ "message.max.bytes", record },
		{ "batch.size", batch },
		{ "queue.buffering.max.messages", messages },
		{ "queue.buffering.max.kbytes", kbytes },
	};
	return kafka_client_configure(client, kafka, settings, ARRAY_SIZE(settings), out);
}

/* Makes librdkafka query the partitions and leaders of the topics, and keep them up to date. */
static void open_topics(struct kafka_instance *instance, const char *const *names)
{
	for (size_t i = 0; i < KAFKA_PRODUCER_TOPICS_MAX && names[i]; i++)
		instance->topics[i] = rd_kafka_topic_new(instance->rk, names[i], NULL);
}

enum err kafka_instance_open(struct kafka_client *client, const struct kafka_config *kafka,
                             const struct kafka_producer_config *limits, size_t batch_bytes,
                             kafka_instance_report on_report, struct kafka_instance *out)
{
	rd_kafka_conf_t *conf = NULL;
	enum err err = configure(client, kafka, limits, batch_bytes, &conf);
	if (err != OK)
		return err;
	rd_kafka_conf_set_dr_msg_cb(conf, on_report);
	rd_kafka_t *rk = kafka_client_open(client, RD_KAFKA_PRODUCER, conf);
	if (!rk)
		return ERR_INVALID;
	*out = (struct kafka_instance){ .rk = rk, .batch_bytes = batch_bytes };
	open_topics(out, limits->topics);
	return OK;
}

rd_kafka_resp_err_t kafka_instance_produce(const struct kafka_instance *instance,
                                           struct kafka_queue_entry *entry)
{
	const struct kafka_record *r = &entry->record;
	rd_kafka_headers_t *headers = rd_kafka_headers_new(r->header_count);
	for (size_t i = 0; i < r->header_count; i++)
		rd_kafka_header_add(headers, r->headers[i].name, -1, r->headers[i].value,
		                    (ssize_t)entry->header_lens[i]);
	int32_t partition = r->has_partition ? r->partition : RD_KAFKA_PARTITION_UA;
	rd_kafka_resp_err_t code = rd_kafka_producev(
		instance->rk, RD_KAFKA_V_TOPIC(r->topic), RD_KAFKA_V_PARTITION(partition),
		RD_KAFKA_V_KEY(r->key, r->key_len),
		RD_KAFKA_V_VALUE((void *)(uintptr_t)r->value, r->value_len),
		RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE(entry), RD_KAFKA_V_END);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
		rd_kafka_headers_destroy(headers);
	return code;
}

/* librdkafka ends a batch before the record with which it would exceed batch.size. */
bool kafka_instance_sends_alone(const struct kafka_instance *instance,
                                const struct kafka_queue_entry *entry)
{
	return instance->batch_bytes == KAFKA_INSTANCE_ONE_RECORD ||
	       entry->record.key_len + entry->record.value_len >= instance->batch_bytes;
}

size_t kafka_instance_smaller_batch(const struct kafka_instance *instance)
{
	size_t bytes = instance->batch_bytes / BATCH_DIVISOR;
	return bytes < BATCH_BYTES_MIN ? KAFKA_INSTANCE_ONE_RECORD : bytes;
}

size_t kafka_instance_larger_batch(const struct kafka_instance *instance)
{
	size_t bytes = KAFKA_PRODUCER_BATCH_BYTES_MAX;
	while (bytes / BATCH_DIVISOR > instance->batch_bytes &&
	       bytes / BATCH_DIVISOR >= BATCH_BYTES_MIN)
		bytes /= BATCH_DIVISOR;
	return bytes;
}

enum err kafka_instance_query_ends(const struct kafka_instance *instance,
                                   struct kafka_client *client, const char *topic,
                                   int64_t timeout_ms, int64_t *ends, int32_t max,
                                   int32_t *partitions)
{
	int64_t until_us = clock_steady_us(clock_system()) + timeout_ms * CLOCK_US_PER_MS;
	int32_t count = 0;
	enum err err = ERR_UNAVAILABLE;
	rd_kafka_topic_t *handle = rd_kafka_topic_new(instance->rk, topic, NULL);
	if (handle && kafka_client_count_partitions(client, instance->rk, handle, timeout_ms,
	                                            &count) == RD_KAFKA_RESP_ERR_NO_ERROR)
		err = count > max ? ERR_LIMIT : OK;
	int64_t left_ms = (until_us - clock_steady_us(clock_system())) / CLOCK_US_PER_MS;
	if (err == OK)
		err = kafka_client_query_offsets(instance->rk, topic, count, RD_KAFKA_OFFSET_END,
		                                 left_ms > 1 ? left_ms : 1, ends);
	if (handle)
		rd_kafka_topic_destroy(handle);
	if (err == OK)
		*partitions = count;
	return err;
}

void kafka_instance_purge(const struct kafka_instance *instance)
{
	do {
		rd_kafka_purge(instance->rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
		rd_kafka_flush(instance->rk, PURGE_WAIT_MS);
	} while (rd_kafka_outq_len(instance->rk) > 0);
}

void kafka_instance_close(struct kafka_instance *instance)
{
	for (size_t i = 0; i < KAFKA_PRODUCER_TOPICS_MAX; i++) {
		if (instance->topics[i])
			rd_kafka_topic_destroy(instance->topics[i]);
	}
	rd_kafka_destroy(instance->rk);
	*instance = (struct kafka_instance){ 0 };
}
