/*
 * One thread at a time. Reads all partitions of a topic without a consumer group, for processes
 * that mirror a topic in memory. Every process reads everything itself, from the ends of the
 * partitions at its start, and stores no offsets.
 *
 * Partitions that are added later are read from their beginning, because all their records are new.
 * If an offset is gone (retention overtook the reader, or the topic was created again), the reader
 * continues at the end of the partition and calls lost: it cannot know what it missed.
 */
#ifndef WAYMARK_LIB_NET_KAFKA_FEED_H
#define WAYMARK_LIB_NET_KAFKA_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/net/kafka_config.h"
#include "lib/net/kafka_message.h"

struct kafka_feed;

/* Callbacks run inside kafka_feed_poll. */
struct kafka_feed_events {
	/*
	 * All count partitions of the topic are read from now on. Called again whenever partitions
	 * were added.
	 */
	void (*found)(void *ctx, int32_t count);
	/* Records of this partition may have been missed. */
	void (*lost)(void *ctx, int32_t partition);
};

struct kafka_feed_config {
	const struct kafka_config *kafka; /* borrowed while kafka_feed_new runs */
	const char *topic;                /* borrowed */
	struct kafka_feed_events events;
	void *ctx;
	const struct log *log;
};

/*
 * Succeeds without reachable brokers; the polls connect. ERR_INVALID: librdkafka rejects the
 * configuration (logged).
 */
enum err kafka_feed_new(const struct kafka_feed_config *config, struct kafka_feed **out) MUST_CHECK;
void kafka_feed_free(struct kafka_feed *reader);

/*
 * OK: message is filled, and borrowed until the next call. ERR_NOT_FOUND: no record within
 * timeout_ms. ERR_UNAVAILABLE: the same, and no broker is connected (logged once per outage).
 * ERR_INTERNAL: librdkafka failed permanently (logged): free the reader and create another.
 *
 * Every 5 s a poll also queries the number of partitions. A broker that does not respond costs it
 * 250 ms more.
 */
enum err kafka_feed_poll(struct kafka_feed *reader, int64_t timeout_ms, struct kafka_message *message) MUST_CHECK;

/* A header of the last polled record; errors as in kafka_message_header. */
enum err kafka_feed_header(const struct kafka_feed *reader, const char *name, char *out, size_t size) MUST_CHECK;

/* Makes the next poll look for new partitions. */
void kafka_feed_look(struct kafka_feed *reader);

#endif
