/*
 * One thread at a time. Reads all partitions of some topics without a consumer group, for processes
 * that mirror topics in memory. Every process reads everything itself, from the ends of the
 * partitions at its start, or from some records before them, and stores no offsets.
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

#define KAFKA_TOPIC_READER_TOPICS_MAX 2

struct kafka_topic_reader;

/* Callbacks run inside kafka_topic_reader_poll. topic is the index in the configured topics. */
struct kafka_topic_reader_events {
	/* All count partitions of the topic are read from now on. Called again for more. */
	void (*found)(void *ctx, int topic, int32_t count);
	/* Records of this partition may have been missed. */
	void (*lost)(void *ctx, int topic, int32_t partition);
	/*
	 * No record is left; the next one will have this offset or a larger one. Called once for
	 * each end that is reached, also at the start. May be NULL.
	 */
	void (*at_end)(void *ctx, int topic, int32_t partition, int64_t offset);
};

struct kafka_topic_reader_config {
	/* Borrowed while kafka_topic_reader_new runs. */
	const struct kafka_config *kafka;
	/* Borrowed; at least one. */
	const char *topics[KAFKA_TOPIC_READER_TOPICS_MAX];
	/* How many records before the end of each partition are read first; INT64_MAX: all. */
	int64_t tail;
	struct kafka_topic_reader_events events;
	void *ctx;
	const struct log *log;
};

/* Needs no reachable brokers; polls connect. ERR_INVALID: configuration rejected (logged). */
enum err kafka_topic_reader_new(const struct kafka_topic_reader_config *config,
                                struct kafka_topic_reader **out) MUST_CHECK;
void kafka_topic_reader_free(struct kafka_topic_reader *reader);

/*
 * OK: message is filled, and borrowed until the next call. ERR_NOT_FOUND: no record within
 * timeout_ms. ERR_UNAVAILABLE: the same, and no broker is connected (logged once per outage).
 * ERR_INTERNAL: librdkafka failed permanently (logged): free the reader and create another.
 *
 * Every 5 s a poll also queries the number of partitions. A broker that does not respond costs it
 * 250 ms more for each topic.
 */
enum err kafka_topic_reader_poll(struct kafka_topic_reader *reader, int64_t timeout_ms,
                                 struct kafka_message *message) MUST_CHECK;

/*
 * Queries the offset after the last record of each partition of a topic. Waits at most twice
 * timeout_ms. ERR_UNAVAILABLE: the brokers have not answered, or have no such topic. ERR_LIMIT: there
 * are more than max partitions.
 */
enum err kafka_topic_reader_query_ends(struct kafka_topic_reader *reader, int topic,
                                       int64_t timeout_ms, int64_t *ends, int32_t max,
                                       int32_t *partitions) MUST_CHECK;

/* Makes the next poll look for new partitions. */
void kafka_topic_reader_refresh(struct kafka_topic_reader *reader);

/* Continues at the end of the partition and calls lost, because records may have been missed. */
void kafka_topic_reader_skip_to_end(struct kafka_topic_reader *reader, int topic,
                                    int32_t partition);

#endif
