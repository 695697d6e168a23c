#include "lib/kafka/kafka_queue.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "lib/base/mem.h"

static size_t block_size(const struct kafka_record *record,
                         size_t header_lens[static KAFKA_HEADERS_MAX])
{
	size_t size = strlen(record->topic) + 1 + record->key_len;
	for (size_t i = 0; i < record->header_count; i++) {
		header_lens[i] = strlen(record->headers[i].value);
		size += header_lens[i] + 1;
	}
	return size;
}

/* Copies len bytes to *at and advances *at. */
static char *put(char **at, const void *bytes, size_t len)
{
	char *copy = *at;
	if (len > 0)
		memcpy(copy, bytes, len);
	*at += len;
	return copy;
}

struct kafka_queue_entry *kafka_queue_entry_new(const struct kafka_record *record)
{
	size_t header_lens[KAFKA_HEADERS_MAX];
	size_t size = block_size(record, header_lens);
	size_t value_len = record->value_is_borrowed ? 0 : record->value_len;
	struct kafka_queue_entry *entry = mem_resize(NULL, 1, sizeof(*entry) + size + value_len);
	char *at = entry->block;
	*entry = (struct kafka_queue_entry){ .bytes = sizeof(*entry) + size + record->value_len,
		                             .result = ERR_UNAVAILABLE,
		                             .record = *record };
	entry->record.topic = put(&at, record->topic, strlen(record->topic) + 1);
	for (size_t i = 0; i < record->header_count; i++) {
		entry->header_lens[i] = header_lens[i];
		entry->record.headers[i].value =
			put(&at, record->headers[i].value, header_lens[i] + 1);
	}
	if (record->key)
		entry->record.key = put(&at, record->key, record->key_len);
	if (record->value && !record->value_is_borrowed)
		entry->record.value = put(&at, record->value, record->value_len);
	return entry;
}

void kafka_queue_append(struct kafka_queue *list, struct kafka_queue_entry *entry)
{
	DL_APPEND(list->first, entry);
}

struct kafka_queue_entry *kafka_queue_pop(struct kafka_queue *list)
{
	struct kafka_queue_entry *entry = list->first;
	if (entry)
		DL_DELETE(list->first, entry);
	return entry;
}

static int by_sequence(const struct kafka_queue_entry *a, const struct kafka_queue_entry *b)
{
	return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

void kafka_queue_merge(struct kafka_queue *list, struct kafka_queue *late)
{
	DL_CONCAT(list->first, late->first);
	late->first = NULL;
	DL_SORT(list->first, by_sequence);
}
