/*
 * One thread at a time. A record as a reader of Kafka hands it out: for kafka_consumer and kafka_feed.
 */
#ifndef WAYMARK_LIB_NET_KAFKA_MESSAGE_H
#define WAYMARK_LIB_NET_KAFKA_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

struct rd_kafka_message_s;

/* Borrowed from the reader until its next call. */
struct kafka_message {
	int32_t partition;
	int64_t offset;
	int64_t timestamp_ms; /* the broker's or producer's; -1 = none */
	const void *key;
	size_t key_len;
	const void *value; /* NULL = tombstone */
	size_t value_len;
	const struct rd_kafka_message_s *record; /* for kafka_message_header; NULL = without headers */
};

/*
 * The value of the last header of that name, with a NUL. m: a message's record; NULL has no headers. ERR_NOT_FOUND:
 * there is none. ERR_LIMIT: it is longer than size - 1 bytes.
 */
enum err kafka_message_header(const struct rd_kafka_message_s *m, const char *name, char *out, size_t size) MUST_CHECK;

/*
 * Tells the record at an offset from another one that came to stand there, because the topic was made anew or lost its
 * end: of its time, its key, how long it is, and how it begins. Never 0.
 */
int64_t kafka_message_print(const struct kafka_message *m);

/* For the readers. */
void kafka_message_fill(struct kafka_message *out, const struct rd_kafka_message_s *m);

#endif
