/*
 * One thread at a time. The queue of a kafka_producer. An entry is the producer's own copy of a
 * record; it lives until the record is acked or fails for good, so the producer can send it again.
 */
#ifndef WAYMARK_LIB_KAFKA_KAFKA_QUEUE_H
#define WAYMARK_LIB_KAFKA_KAFKA_QUEUE_H

#include <stdint.h>

#include "lib/kafka/kafka_producer.h"

struct kafka_queue_entry {
	struct kafka_queue_entry *prev, *next;
	/* Order of acceptance. */
	uint64_t sequence;
	/* Steady. */
	int64_t accepted_us;
	/* Its share of queue_bytes_max. */
	size_t bytes;
	/* To report if it is dropped from the queue. */
	enum err result;
	/* Of the values. */
	size_t header_lens[KAFKA_HEADERS_MAX];
	struct kafka_record record;
	/* The bytes that record points at. */
	char block[];
};

/* Entries ordered by sequence. */
struct kafka_queue {
	struct kafka_queue_entry *first;
};

/* Copies record, except a borrowed value, whose bytes count as well. Release with free(). */
struct kafka_queue_entry *kafka_queue_entry_new(const struct kafka_record *record);

void kafka_queue_append(struct kafka_queue *list, struct kafka_queue_entry *entry);
/* Removes and returns the first entry; NULL: the queue is empty. */
struct kafka_queue_entry *kafka_queue_pop(struct kafka_queue *list);
/* Merges the entries of late, in any order, into list by sequence. late is empty afterwards. */
void kafka_queue_merge(struct kafka_queue *list, struct kafka_queue *late);

#endif
