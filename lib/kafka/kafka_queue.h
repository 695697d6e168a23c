/*
 * One thread at a time. The queue of a kafka_producer. An entry is the producer's own copy of a
 * record; it lives until the record is acked or fails for good, so the producer can send it again.
 */
#ifndef WAYMARK_LIB_KAFKA_KAFKA_QUEUE_H
#define WAYMARK_LIB_KAFKA_KAFKA_QUEUE_H

#include <stdint.h>

#include "lib/kafka/kafka_producer.h"

struct kafka_queue_entry {
	struct kafka_queue_entry *next;
	uint64_t sequence;                     /* order of acceptance */
	int64_t accepted_us;                   /* steady */
	size_t bytes;                          /* its share of queue_bytes_max */
	enum err result;                       /* to report if it is dropped from the queue */
	size_t header_lens[KAFKA_HEADERS_MAX]; /* of the values */
	struct kafka_record record;
	char block[]; /* the bytes that record points at */
};

/* Entries ordered by sequence. */
struct kafka_queue {
	struct kafka_queue_entry *first;
	struct kafka_queue_entry *last;
};

/* Copies record, except a borrowed value. Release with free(). */
struct kafka_queue_entry *kafka_queue_entry_new(const struct kafka_record *record);

void kafka_queue_append(struct kafka_queue *list, struct kafka_queue_entry *entry);
/* Removes and returns the first entry; NULL: the queue is empty. */
struct kafka_queue_entry *kafka_queue_pop(struct kafka_queue *list);
/* Merges the entries of late, in any order, into list by sequence. late is empty afterwards. */
void kafka_queue_merge(struct kafka_queue *list, struct kafka_queue *late);

#endif
