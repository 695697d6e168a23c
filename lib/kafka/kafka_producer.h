/*
 * Safe from any thread. An idempotent Kafka producer on librdkafka that never blocks its callers:
 * acks=all, lz4, and the partitioner murmur2_random, which agrees with Java's clients. One
 * background thread polls for delivery reports.
 *
 * The idempotent producer can fail fatally, such as with lost sequence numbers after a disconnect.
 * A new librdkafka instance then replaces it behind the same handle and sends everything again that
 * was not acked, in order. Consumers may see repeats with the same ce_id, but never a gap.
 *
 * The same happens when a broker finds a batch too large or invalid: its records are sent again in
 * smaller batches, in the end one by one.
 */
#ifndef WAYMARK_LIB_KAFKA_KAFKA_PRODUCER_H
#define WAYMARK_LIB_KAFKA_KAFKA_PRODUCER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/kafka/kafka_config.h"

#define KAFKA_HEADERS_MAX 10
#define KAFKA_PRODUCER_TOPICS_MAX 3
/* The largest record, and the largest batch before compression. Topics have to accept it. */
#define KAFKA_PRODUCER_BATCH_BYTES_MAX 1000000

struct kafka_producer;

struct kafka_header {
	/* A literal, or lives as long as the producer. */
	const char *name;
	const char *value;
};

struct kafka_record {
	const char *topic;
	const void *key;
	size_t key_len;
	/* NULL: a tombstone. */
	const void *value;
	size_t value_len;
	/* Not copied: the caller keeps value until delivered runs. */
	bool value_is_borrowed;
	struct kafka_header headers[KAFKA_HEADERS_MAX];
	size_t header_count;
	/* False: the key determines it. Of a partition that does not exist: any. */
	bool has_partition;
	int32_t partition;
	/* Passed to delivered. */
	void *opaque;
};

/*
 * The delivery report, called once per accepted record in the producer's thread. OK: acked by all
 * in-sync replicas. Otherwise the producer has dropped the record. ERR_UNAVAILABLE:
 * message_timeout_ms passed, or the producer was closed. ERR_INVALID: the broker rejects it
 * permanently, also in a batch of its own.
 */
typedef void (*kafka_delivered)(void *ctx, void *opaque, enum err result);

/* Called before delivered for each acked record. offset: negative if the broker did not name it. */
typedef void (*kafka_acked)(void *ctx, const struct kafka_record *record, int32_t partition,
                            int64_t offset);

struct kafka_producer_config {
	const struct kafka_config *kafka;
	/*
	 * Borrowed. The producer learns the partitions of these topics at its start. The first
	 * record to any other topic waits up to a second for that.
	 */
	const char *topics[KAFKA_PRODUCER_TOPICS_MAX];
	/* Queries the number of partitions of topics[0] every 10 s. */
	bool counts_partitions;
	/* Ceiling of records accepted but not acked. */
	size_t queue_max;
	size_t queue_bytes_max;
	int64_t linger_ms;
	/* 0: a record never times out. */
	int64_t message_timeout_ms;
	/* May be NULL. */
	kafka_delivered delivered;
	/* May be NULL. */
	kafka_acked acked;
	void *ctx;
	const struct log *log;
	/* May be NULL. */
	struct metrics *metrics;
};

/* Needs no reachable brokers. ERR_INVALID: librdkafka rejects the configuration (logged). */
enum err kafka_producer_new(const struct kafka_producer_config *config,
                            struct kafka_producer **out) MUST_CHECK;

/*
 * Accepts a record and never blocks. Copies the key, the value (unless it is borrowed) and the
 * header values. ERR_LIMIT: the queue is full. ERR_INVALID: the record is too large for Kafka, or
 * has too many headers. Nothing is accepted then.
 */
enum err kafka_producer_send(struct kafka_producer *p,
                             const struct kafka_record *record) MUST_CHECK;

/*
 * Queries the number of partitions of topic and the offset after the last record of each. Waits at
 * most timeout_ms, during which no other thread can send. ERR_UNAVAILABLE: a broker has not
 * answered. ERR_LIMIT: there are more than max partitions.
 */
enum err kafka_producer_query_ends(struct kafka_producer *p, const char *topic, int64_t timeout_ms,
                                   int64_t *ends, int32_t max, int32_t *partitions) MUST_CHECK;

/* Of config.topics[0]. 0: not known yet, which is logged. */
int32_t kafka_producer_partitions(const struct kafka_producer *p);

/* Records accepted and neither acked nor dropped. */
size_t kafka_producer_queued(const struct kafka_producer *p);

/* Waits until the queue is empty. ERR_UNAVAILABLE: it was not within timeout_ms. */
enum err kafka_producer_flush(struct kafka_producer *p, int64_t timeout_ms) MUST_CHECK;

/* Drops what is still queued (delivered gets ERR_UNAVAILABLE) and frees p. */
void kafka_producer_free(struct kafka_producer *p);

/*
 * Whether a broker is connected and no request has waited for 5 s. Updated once a second. For
 * /readyz: a void pointer.
 */
bool kafka_producer_is_reachable(void *p);

#endif
