/*
 * Safe from any thread. An idempotent Kafka producer (librdkafka; acks=all, lz4, partitioner murmur2_random so that
 * Java's clients agree) that never blocks its callers. One background thread polls for delivery reports.
 *
 * A fatal error of the idempotent producer (a sequence desynchronisation after a disconnect) makes a new producer
 * behind the same handle, and what was not acked is sent again, in order: consumers see repeats with the same ce_id,
 * never a gap.
 */
#ifndef WAYMARK_LIB_NET_KAFKA_PRODUCER_H
#define WAYMARK_LIB_NET_KAFKA_PRODUCER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/net/kafka_config.h"

#define KAFKA_HEADERS_MAX 10
#define KAFKA_PRODUCER_TOPICS_MAX 3

struct kafka_producer;

struct kafka_header {
	const char *name; /* lives as long as the producer: a literal */
	const char *value;
};

struct kafka_record {
	const char *topic;
	const void *key;
	size_t key_len;
	const void *value; /* NULL = a tombstone */
	size_t value_len;
	bool value_is_kept; /* by the caller, until delivered is told: it is not copied */
	struct kafka_header headers[KAFKA_HEADERS_MAX];
	size_t header_count;
	bool has_partition; /* false: the key decides */
	int32_t partition;
	void *opaque; /* handed to delivered */
};

/*
 * Told once per accepted record, in the producer's thread: OK = acked by all in-sync replicas; otherwise it is lost for
 * this producer (ERR_UNAVAILABLE: message_timeout_ms passed or the producer was closed; ERR_INVALID: the broker refuses
 * it for good).
 */
typedef void (*kafka_delivered)(void *ctx, void *opaque, enum err result);

struct kafka_producer_config {
	const struct kafka_config *kafka;
	/*
	 * Asked for at the start, and borrowed; the first record to any other waits for up to a second until its topic
	 * is known.
	 */
	const char *topics[KAFKA_PRODUCER_TOPICS_MAX];
	size_t queue_max; /* records accepted but not acked */
	size_t queue_bytes_max;
	int64_t linger_ms;
	int64_t message_timeout_ms; /* 0 = never give a record up */
	kafka_delivered delivered;  /* may be NULL */
	void *ctx;
	const struct log *log;
	struct metrics *metrics; /* may be NULL */
};

/* Works without the brokers. ERR_INVALID: librdkafka refuses the configuration (logged). */
enum err kafka_producer_new(const struct kafka_producer_config *config, struct kafka_producer **out) MUST_CHECK;

/*
 * Copies key, value and the values of headers. ERR_LIMIT: the queue is full; ERR_INVALID: it is larger than Kafka
 * takes. Nothing was accepted then. Never blocks.
 */
enum err kafka_producer_send(struct kafka_producer *p, const struct kafka_record *record) MUST_CHECK;

/*
 * How many partitions topic has, as the brokers told last; 0: not known yet. Never waits: the first call makes the
 * background thread ask, and ask again every 5 s. One topic per producer; the name is borrowed for as long as p lives.
 */
int32_t kafka_producer_partitions(struct kafka_producer *p, const char *topic);

/* Records accepted and neither acked nor given up. */
size_t kafka_producer_queued(const struct kafka_producer *p);

/* Waits until nothing is queued. ERR_UNAVAILABLE: not within timeout_ms. */
enum err kafka_producer_flush(struct kafka_producer *p, int64_t timeout_ms) MUST_CHECK;

/* Gives up what is still queued (delivered is told) and frees. */
void kafka_producer_free(struct kafka_producer *p);

/* Whether a broker is connected and has not left a request unanswered for 5 s; told once a second. ctx is p. */
bool kafka_producer_is_reachable(void *p);

#endif
