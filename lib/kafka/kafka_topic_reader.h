/*
 * One thread at a time. Reads all partitions of a topic without a consumer group, for processes
 * that mirror a topic in memory. Every process reads everything itself, from the ends of the
 * partitions at its start, and stores no offsets.
 *
 * Partitions that are added later are read from their beginning, because all their records are new.
 * If an offset is gone (retention overtook the reader, or the topic was created again), the reader
 * continues at the end of the partition and calls lost: it cannot know what it missed.
 */
#ifndef WAYMARK_LIB_KAFKA_KAFKA_TOPIC_READER_H
#define WAYMARK_LIB_KAFKA_KAFKA_TOPIC_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/kafka/kafka_config.h"
#include "lib/kafka/kafka_message.h"

struct kafka_topic_reader;

/* Callbacks run inside kafka_topic_reader_poll. */
struct kafka_topic_reader_events {
	/*
	 * All count partitions of the topic are read from now on. Called again whenever partitions
	 * were added.
	 */
	void (*found)(void *ctx, int32_t count);
	/* Records of this partition may have been missed. */
	void (*lost)(void *ctx, int32_t partition);
};

struct kafka_topic_reader_config {
	const struct kafka_config *kafka; /* borrowed while kafka_topic_reader_new runs */
	const char *topic;                /* borrowed */
	struct kafka_topic_reader_events events;
	void *ctx;
	const struct log *log;
};

/*
 * Succeeds without reachable brokers; the polls connect. ERR_INVALID: librdkafka rejects the
 * configuration (logged).
 */
enum err kafka_topic_reader_new(const struct kafka_topic_reader_config *config,
                                struct kafka_topic_reader **out) MUST_CHECK;
void kafka_topic_reader_free(struct kafka_topic_reader *reader);

/*
 * OK: message is filled, and borrowed until the next call. ERR_NOT_FOUND: no record within
 * timeout_ms. ERR_UNAVAILABLE: the same, and no broker is connected (logged once per outage).
 * ERR_INTERNAL: librdkafka failed permanently (logged): free the reader and create another.
 *
 * Every 5 s a poll also queries the number of partitions. A broker that does not respond costs it
 * 250 ms more.
 */
enum err kafka_topic_reader_poll(struct kafka_topic_reader *reader, int64_t timeout_ms,
                                 struct kafka_message *message) MUST_CHECK;

/* A header of the last polled record; errors as in kafka_message_header. */
enum err kafka_topic_reader_header(const struct kafka_topic_reader *reader, const char *name,
                                   char *out, size_t size) MUST_CHECK;

/* Makes the next poll look for new partitions. */
void kafka_topic_reader_refresh(struct kafka_topic_reader *reader);

#endif
