#include "services/analytics-consumer/publish/dead_letter.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/clicks/redirect_event.h"
#include "services/analytics-consumer/publish/delivery.h"

#define ACK_PAUSE_MS 2

struct letter {
	/* Outlives the letter while it is in flight. */
	struct delivery *delivery;
	int32_t partition;
	int64_t offset;
	size_t original_len;
	size_t len;
	size_t key_len;
	/* The value, followed by the key. */
	char *bytes;
	bool has_value;
	char reason[REDIRECT_EVENT_REASON_SIZE];
};

struct discarded {
	struct discarded *next;
	struct delivery *delivery;
};

struct dead_letter_list {
	const char *topic;
	const char *dead_letter_topic;
	size_t count_max, bytes_max;
	size_t count, bytes;
	size_t overdue;
	struct letter *letters;
	/* Deliveries of letters that may still be in flight. */
	struct discarded *discarded;
};

struct dead_letter_list *dead_letter_list_new(size_t count_max, size_t bytes_max, const char *topic,
                                              const char *dead_letter_topic)
{
	struct dead_letter_list *list = mem_zero(sizeof(*list));
	list->topic = topic;
	list->dead_letter_topic = dead_letter_topic;
	list->count_max = count_max;
	list->bytes_max = bytes_max;
	list->letters = mem_array(count_max, sizeof(*list->letters));
	return list;
}

static void free_reported(struct dead_letter_list *list)
{
	struct discarded **at = &list->discarded;
	while (*at) {
		struct discarded *discarded = *at;
		if (delivery_is_pending(discarded->delivery)) {
			at = &discarded->next;
			continue;
		}
		*at = discarded->next;
		free(discarded->delivery);
		free(discarded);
	}
}

void dead_letter_list_reset(struct dead_letter_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct discarded *discarded = mem_zero(sizeof(*discarded));
		*discarded = (struct discarded){ .next = list->discarded,
			                         .delivery = list->letters[i].delivery };
		list->discarded = discarded;
		free(list->letters[i].bytes);
	}
	list->count = 0;
	list->bytes = 0;
	list->overdue = 0;
	free_reported(list);
}

void dead_letter_list_free(struct dead_letter_list *list)
{
	if (!list)
		return;
	dead_letter_list_reset(list);
	free(list->letters);
	free(list);
}

static size_t at_most(size_t len, size_t max)
{
	return len < max ? len : max;
}

void dead_letter_list_add(struct dead_letter_list *list, const struct kafka_message *message,
                          const char *reason)
{
	if (list->count == list->count_max)
		return;
	struct letter *letter = &list->letters[list->count++];
	*letter = (struct letter){
		.delivery = mem_zero(sizeof(struct delivery)),
		.partition = message->partition,
		.offset = message->offset,
		.original_len = message->value_len,
		.len = at_most(message->value_len, DEAD_LETTER_BYTES_MAX),
		.key_len = at_most(message->key_len, DEAD_LETTER_KEY_MAX),
		.has_value = message->value != NULL,
	};
	letter->bytes = mem_zero(letter->len + letter->key_len);
	if (message->value && letter->len > 0)
		memcpy(letter->bytes, message->value, letter->len);
	if (message->key && letter->key_len > 0)
		memcpy(letter->bytes + letter->len, message->key, letter->key_len);
	snprintf(letter->reason, sizeof(letter->reason), "%s", reason);
	list->bytes += letter->len + letter->key_len;
}

bool dead_letter_list_is_full(const struct dead_letter_list *list)
{
	return list->count == list->count_max || list->bytes >= list->bytes_max;
}

size_t dead_letter_list_length(const struct dead_letter_list *list)
{
	return list->count;
}

static enum err send_letter(const struct dead_letter_list *list, struct letter *letter,
                            struct kafka_producer *producer)
{
	char partition[16];
	char offset[24];
	char bytes[24];
	snprintf(partition, sizeof(partition), "%" PRId32, letter->partition);
	snprintf(offset, sizeof(offset), "%" PRId64, letter->offset);
	snprintf(bytes, sizeof(bytes), "%zu", letter->original_len);
	struct kafka_record record = {
		.topic = list->dead_letter_topic,
		.key = letter->bytes + letter->len,
		.key_len = letter->key_len,
		.value = letter->has_value ? letter->bytes : NULL,
		.value_len = letter->len,
		.headers = { { "reason", letter->reason },
		             { "topic", list->topic },
		             { "partition", partition },
		             { "offset", offset },
		             { "bytes", bytes } },
		.header_count = 5,
	};
	return delivery_send(letter->delivery, producer, &record);
}

static bool is_acked(const struct letter *letter)
{
	return atomic_load(&letter->delivery->acked) > 0;
}

static size_t count_missing(const struct dead_letter_list *list)
{
	size_t missing = 0;
	for (size_t i = 0; i < list->count; i++)
		missing += !is_acked(&list->letters[i]);
	return missing;
}

size_t dead_letter_list_overdue(const struct dead_letter_list *list)
{
	return list->overdue;
}

enum err dead_letter_list_send(struct dead_letter_list *list, struct kafka_producer *producer,
                               int64_t timeout_ms)
{
	int64_t deadline_us = clock_steady_us(clock_system()) + timeout_ms * CLOCK_US_PER_MS;
	for (;;) {
		/* A letter that failed or found the queue full is sent again until the timeout. */
		for (size_t i = 0; i < list->count; i++) {
			struct letter *letter = &list->letters[i];
			if (!is_acked(letter) && !delivery_is_pending(letter->delivery))
				(void)(send_letter(list, letter, producer) == OK);
		}
		size_t missing = count_missing(list);
		bool is_late = clock_steady_us(clock_system()) >= deadline_us;
		list->overdue = is_late ? missing : 0;
		if (missing == 0)
			return OK;
		if (is_late)
			return ERR_UNAVAILABLE;
		/* An empty queue may never come, because visits keep arriving in it. */
		poll(NULL, 0, ACK_PAUSE_MS);
	}
}
