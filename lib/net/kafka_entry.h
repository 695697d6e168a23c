/*
 * One thread at a time. A record that a producer has accepted: its own copy, kept until the record is acked or given
 * up, so that it can be sent again. For kafka_producer.
 */
#ifndef WAYMARK_LIB_NET_KAFKA_ENTRY_H
#define WAYMARK_LIB_NET_KAFKA_ENTRY_H

#include <stdint.h>

#include "lib/net/kafka_producer.h"

struct kafka_entry {
	struct kafka_entry *next;
	uint64_t sequence;   /* in the order of acceptance */
	int64_t accepted_us; /* steady */
	size_t bytes;        /* what it counts against queue_bytes_max */
	struct kafka_record record;
	char block[]; /* what record points at */
};

/* Entries in the order of their sequence. */
struct kafka_entry_list {
	struct kafka_entry *first;
	struct kafka_entry *last;
};

/* Copies. Release with free(). */
struct kafka_entry *kafka_entry_new(const struct kafka_record *record);

void kafka_entry_append(struct kafka_entry_list *list, struct kafka_entry *entry);
/* NULL when there is none. */
struct kafka_entry *kafka_entry_take_first(struct kafka_entry_list *list);
/* Puts late's entries, which come in any order, before or between those of list. late is empty afterwards. */
void kafka_entry_merge(struct kafka_entry_list *list, struct kafka_entry_list *late);

#endif
