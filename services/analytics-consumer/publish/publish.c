#include "services/analytics-consumer/publish/publish.h"

#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/clicks/redirect_batch.h"
#include "lib/kafka/cloud_event.h"

#define SOURCE "/waymark/analytics-consumer"
#define ACK_PAUSE_MS 2

/* --- deliveries --- */

/* What became of records. Initially { 0 }. It must outlive its pending records. */
struct delivery {
	_Atomic size_t pending;
	_Atomic size_t acked;
	/* Given up by the producer, or rejected by Kafka. */
	_Atomic size_t failed;
};

void publish_delivered(void *ctx, void *opaque, enum err result)
{
	(void)ctx;
	struct delivery *delivery = opaque;
	atomic_fetch_add(result == OK ? &delivery->acked : &delivery->failed, 1);
	/* Last, so that a thread that sees nothing pending also sees the result. */
	atomic_fetch_sub(&delivery->pending, 1);
}

/* Errors: those of kafka_producer_send. Then nothing is counted. */
static enum err delivery_send(struct delivery *delivery, struct kafka_producer *producer,
                              struct kafka_record *record)
{
	record->opaque = delivery;
	atomic_fetch_add(&delivery->pending, 1);
	enum err err = kafka_producer_send(producer, record);
	if (err != OK)
		atomic_fetch_sub(&delivery->pending, 1);
	return err;
}

static bool delivery_is_pending(const struct delivery *delivery)
{
	return atomic_load(&delivery->pending) > 0;
}

/* --- visits --- */

struct visit_publisher {
	struct kafka_producer *producer;
	const char *topic;
	struct delivery delivery;
	struct strbuf encoded;
	size_t failures_reported;
};

struct visit_publisher *publish_visits_new(struct kafka_producer *producer, const char *topic)
{
	struct visit_publisher *publisher = mem_zero(sizeof(*publisher));
	publisher->producer = producer;
	publisher->topic = topic;
	strbuf_init(&publisher->encoded, VISIT_EVENT_BYTES_MAX);
	return publisher;
}

void publish_visits_free(struct visit_publisher *publisher)
{
	if (!publisher)
		return;
	strbuf_clear(&publisher->encoded);
	free(publisher);
}

static enum err send_visit(struct visit_publisher *publisher, const struct visit *visit)
{
	const struct visit_event *event = &visit->event;
	struct cloud_event ce;
	struct kafka_record record = { .topic = publisher->topic,
		                       .key = event->slug,
		                       .key_len = strlen(event->slug) };
	strbuf_reset(&publisher->encoded);
	visit_event_encode(event, &publisher->encoded);
	enum err err = strbuf_status(&publisher->encoded);
	if (err != OK)
		return ERR_INVALID;
	record.value = publisher->encoded.data;
	record.value_len = publisher->encoded.len;
	cloud_event_headers(&ce, event->event_id, event->occurred_at_us, VISIT_EVENT_TYPE,
	                    VISIT_EVENT_SCHEMA, SOURCE, event->slug, &record);
	if (visit->traceparent[0] != '\0')
		record.headers[record.header_count++] =
			(struct kafka_header){ TRACE_CONTEXT_HEADER, visit->traceparent };
	return delivery_send(&publisher->delivery, publisher->producer, &record);
}

enum err publish_visits_send(struct visit_publisher *publisher, const struct visit *visits,
                             size_t count, size_t *done)
{
	for (; *done < count; (*done)++) {
		if (visits[*done].disposition == VISIT_DUPLICATE)
			continue;
		enum err err = send_visit(publisher, &visits[*done]);
		if (err != OK)
			return err;
	}
	return OK;
}

enum err publish_visits_flush(struct visit_publisher *publisher, int64_t timeout_ms)
{
	if (delivery_is_pending(&publisher->delivery) &&
	    kafka_producer_flush(publisher->producer, timeout_ms) != OK)
		return ERR_UNAVAILABLE;
	size_t failures = atomic_load(&publisher->delivery.failed);
	if (failures == publisher->failures_reported)
		return OK;
	publisher->failures_reported = failures;
	return ERR_INTERNAL;
}

/* --- dead letters --- */

struct letter {
	/* Outlives the letter while it is in flight. */
	struct delivery *delivery;
	int32_t partition;
	int64_t offset;
	int64_t index;
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

struct dead_letter_list *publish_letters_new(size_t count_max, size_t bytes_max, const char *topic,
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

void publish_letters_reset(struct dead_letter_list *list)
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

void publish_letters_free(struct dead_letter_list *list)
{
	if (!list)
		return;
	publish_letters_reset(list);
	free(list->letters);
	free(list);
}

static size_t at_most(size_t len, size_t max)
{
	return len < max ? len : max;
}

void publish_letters_add(struct dead_letter_list *list, const struct kafka_message *message,
                         int64_t index, const char *reason)
{
	if (list->count == list->count_max)
		return;
	struct letter *letter = &list->letters[list->count++];
	*letter = (struct letter){
		.delivery = mem_zero(sizeof(struct delivery)),
		.partition = message->partition,
		.offset = message->offset,
		.index = index,
		.original_len = message->value_len,
		.len = at_most(message->value_len, PUBLISH_DEAD_LETTER_BYTES_MAX),
		.key_len = at_most(message->key_len, PUBLISH_DEAD_LETTER_KEY_MAX),
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

bool publish_letters_is_full(const struct dead_letter_list *list)
{
	return list->count == list->count_max || list->bytes >= list->bytes_max;
}

size_t publish_letters_length(const struct dead_letter_list *list)
{
	return list->count;
}

static enum err send_letter(const struct dead_letter_list *list, struct letter *letter,
                            struct kafka_producer *producer)
{
	char partition[16];
	char offset[24];
	char index[24];
	char bytes[24];
	snprintf(partition, sizeof(partition), "%" PRId32, letter->partition);
	snprintf(offset, sizeof(offset), "%" PRId64, letter->offset);
	snprintf(index, sizeof(index), "%" PRId64, letter->index);
	snprintf(bytes, sizeof(bytes), "%zu", letter->original_len);
	struct kafka_record record = {
		.topic = list->dead_letter_topic,
		.key = letter->key_len > 0 ? letter->bytes + letter->len : NULL,
		.key_len = letter->key_len,
		.value = letter->has_value ? letter->bytes : NULL,
		.value_len = letter->len,
		.headers = { { "reason", letter->reason },
		             { "topic", list->topic },
		             { "partition", partition },
		             { "offset", offset },
		             { "bytes", bytes },
		             { "index", index } },
		.header_count = letter->index == PUBLISH_WHOLE_RECORD ? 5 : 6,
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

size_t publish_letters_overdue(const struct dead_letter_list *list)
{
	return list->overdue;
}

enum err publish_letters_send(struct dead_letter_list *list, struct kafka_producer *producer,
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
