/* One thread at a time. A record as kafka_consumer and kafka_topic_reader return it. */
#ifndef WAYMARK_LIB_KAFKA_KAFKA_MESSAGE_H
#define WAYMARK_LIB_KAFKA_KAFKA_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

struct rd_kafka_message_s;

/* Borrowed from the consumer or reader until its next call. */
struct kafka_message {
	/* Of a kafka_topic_reader: the index in its topics; else 0. */
	int topic;
	int32_t partition;
	int64_t offset;
	/* Set by the broker or the producer; -1: none. */
	int64_t timestamp_ms;
	const void *key;
	size_t key_len;
	/* NULL: a tombstone. */
	const void *value;
	size_t value_len;
	/* For kafka_message_header; NULL: no headers. */
	const struct rd_kafka_message_s *record;
};

/*
 * Copies the value of the last header of that name, with a NUL. m: a message's record; NULL has no
 * headers. ERR_NOT_FOUND: no such header. ERR_LIMIT: the value is longer than size - 1 bytes.
 */
enum err kafka_message_header(const struct rd_kafka_message_s *m, const char *name, char *out,
                              size_t size) MUST_CHECK;

/* Enough for an event's id, which is its first field. */
#define KAFKA_MESSAGE_HEAD_BYTES 64

/* A copy of what a fingerprint covers. It outlives the record, so few fingerprints are computed. */
struct kafka_message_head {
	int64_t timestamp_ms;
	size_t key_len;
	/* -1: a tombstone. */
	int64_t value_len;
	uint8_t key[KAFKA_MESSAGE_HEAD_BYTES];
	uint8_t value[KAFKA_MESSAGE_HEAD_BYTES];
};

void kafka_message_copy_head(const struct kafka_message *m, struct kafka_message_head *out);

/*
 * A fingerprint of time, key, lengths and first bytes; never 0. It distinguishes a record from
 * another one at the same offset, which appears when a topic was created again or lost its end.
 */
int64_t kafka_message_fingerprint(const struct kafka_message_head *head);

/* Fills out from librdkafka's message. For kafka_consumer and kafka_topic_reader. */
void kafka_message_fill(struct kafka_message *out, const struct rd_kafka_message_s *m);

#endif
