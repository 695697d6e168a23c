/*
 * One thread at a time. A reader of all partitions of a topic, without a group: every process reads everything for
 * itself, from the ends as of its start, and remembers nothing beyond its life. For those who keep in memory what a
 * topic tells.
 *
 * Partitions that are added later are read from their beginning, as all of it is new. Where an offset is gone
 * (retention overtook the reader, the topic was made anew) the partition is read from its end again and that is told:
 * what was missed is not known.
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

/* The callbacks run inside kafka_feed_poll. */
struct kafka_feed_events {
	/* The topic has count partitions and all of them are read from now on; told again whenever there are more. */
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
 * Works without the brokers: they are asked by each poll. ERR_INVALID: librdkafka refuses the configuration (logged).
 */
enum err kafka_feed_new(const struct kafka_feed_config *config, struct kafka_feed **out) MUST_CHECK;
void kafka_feed_free(struct kafka_feed *feed);

/*
 * OK: message is filled, and borrowed until the next call. ERR_NOT_FOUND: nothing within timeout_ms. ERR_UNAVAILABLE:
 * the same, and no broker is connected (logged once per outage). ERR_INTERNAL: librdkafka has failed for good (logged):
 * free the feed and make another.
 *
 * Now and then it also asks for the number of partitions: a broker that does not answer costs 250 ms more.
 */
enum err kafka_feed_poll(struct kafka_feed *feed, int64_t timeout_ms, struct kafka_message *message) MUST_CHECK;

/* As kafka_consumer_header, of the last polled record. */
enum err kafka_feed_header(const struct kafka_feed *feed, const char *name, char *out, size_t size) MUST_CHECK;

/* Looks for new partitions at the next poll, and not only every 5 s. */
void kafka_feed_look(struct kafka_feed *feed);

#endif
