#include "services/analytics-consumer/storage/batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/kafka/cloud_event.h"

#define HEADER_MAX 64
/* A poison message may have a megabyte: closes a batch before dead letters fill the memory. */
#define DEAD_LETTER_BYTES_MAX_OF_BATCH ((size_t)8 * 1024 * 1024)

void batch_init(struct batch *batch, size_t visits_max, const char *topic,
                const char *dead_letter_topic)
{
	*batch = (struct batch){ .visits_max = visits_max };
	batch->visits = mem_array(visits_max, sizeof(*batch->visits));
	visit_order_init(&batch->order, visits_max);
	batch->dead_letters = publish_letters_new(visits_max, DEAD_LETTER_BYTES_MAX_OF_BATCH, topic,
	                                          dead_letter_topic);
}

void batch_clear(struct batch *batch)
{
	free(batch->visits);
	visit_order_clear(&batch->order);
	pg_result_free(batch->link_rows);
	publish_letters_free(batch->dead_letters);
	*batch = (struct batch){ 0 };
}

void batch_reset(struct batch *batch)
{
	batch->events = 0;
	batch->count = 0;
	batch->in_doubt = false;
	pg_result_free(batch->link_rows);
	batch->link_rows = NULL;
	publish_letters_reset(batch->dead_letters);
}

/* Rejects a record whose headers declare another type. Without them, its bytes decide. */
static enum err check_headers(const struct kafka_message *message,
                              char reason[static REDIRECT_EVENT_REASON_SIZE])
{
	static const char *const expected[][2] = { { "ce_type", REDIRECT_BATCH_TYPE },
		                                   { "content-type", CLOUD_EVENT_PROTOBUF } };
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		char value[HEADER_MAX];
		enum err err =
			kafka_message_header(message->record, expected[i][0], value, sizeof(value));
		if (err == ERR_NOT_FOUND || (err == OK && strcmp(value, expected[i][1]) == 0))
			continue;
		snprintf(reason, REDIRECT_EVENT_REASON_SIZE, "%s: %s", expected[i][0],
		         err == OK ? value : "too long");
		return ERR_INVALID;
	}
	return OK;
}

static enum err open_message(const struct kafka_message *message, struct redirect_batch *events,
                             char reason[static REDIRECT_EVENT_REASON_SIZE])
{
	if (!message->value || message->value_len == 0) {
		snprintf(reason, REDIRECT_EVENT_REASON_SIZE, "empty message");
		return ERR_INVALID;
	}
	if (check_headers(message, reason) != OK)
		return ERR_INVALID;
	return redirect_batch_open(message->value, message->value_len, events, reason);
}

void batch_open(struct batch *batch, const struct kafka_message *message,
                struct offsets_partition *partition, struct batch_record *record)
{
	char reason[REDIRECT_EVENT_REASON_SIZE] = "";
	/* Of its last event: the first ones may be counted. */
	int64_t position = offsets_position(message->offset, OFFSETS_INDEXES - 1);
	*record = (struct batch_record){ .message = *message };
	record->is_open = open_message(message, &record->events, reason) == OK;
	if (record->is_open || offsets_is_done(partition, position))
		return;
	batch->events++;
	/* A record before `stored` already has its dead letter. */
	if (!offsets_is_counted(partition, position))
		publish_letters_add(batch->dead_letters, message, PUBLISH_WHOLE_RECORD, reason);
	offsets_extend(partition, message, 0, OFFSETS_INDEXES);
}

static void add_event(struct batch *batch, struct enrich *enrich, const struct batch_record *record,
                      const void *bytes, size_t len, struct offsets_partition *partition,
                      int64_t now_us)
{
	struct redirect_event click;
	char reason[REDIRECT_EVENT_REASON_SIZE] = "";
	bool is_counted = offsets_is_counted(
		partition, offsets_position(record->message.offset, record->index));
	batch->events++;
	if (redirect_event_decode(bytes, len, &click, reason) != OK) {
		const struct kafka_message event = { .partition = record->message.partition,
			                             .offset = record->message.offset,
			                             .value = bytes,
			                             .value_len = len };
		if (!is_counted)
			publish_letters_add(batch->dead_letters, &event, record->index, reason);
		return;
	}
	struct visit *visit = &batch->visits[batch->count++];
	enrich_click(enrich, &click, visit);
	/* A malformed one counts as missing. */
	(void)trace_context_parse(click.traceparent, visit->traceparent);
	visit->disposition = is_counted ? VISIT_ALREADY_COUNTED : VISIT_NEW;
	int64_t as_of_us = click.occurred_at_us < now_us ? click.occurred_at_us : now_us;
	if (as_of_us > partition->as_of_us)
		partition->as_of_us = as_of_us;
}

void batch_add(struct batch *batch, struct enrich *enrich, struct batch_record *record,
               struct offsets_partition *partition, int64_t now_us)
{
	const void *event;
	size_t len;
	int64_t from = record->index;
	while (!batch_is_full(batch) && redirect_batch_next(&record->events, &event, &len)) {
		if (offsets_is_done(partition,
		                    offsets_position(record->message.offset, record->index)))
			from++;
		else
			add_event(batch, enrich, record, event, len, partition, now_us);
		record->index++;
	}
	record->is_open = record->index < (int64_t)record->events.count;
	if (record->index > from)
		offsets_extend(partition, &record->message, from,
		               record->is_open ? record->index : OFFSETS_INDEXES);
}

bool batch_is_empty(const struct batch *batch)
{
	return batch->events == 0;
}

bool batch_is_full(const struct batch *batch)
{
	return batch->events >= batch->visits_max || publish_letters_is_full(batch->dead_letters);
}

void batch_sort(struct batch *batch)
{
	visit_order_sort(&batch->order, batch->visits, batch->count);
}

struct batch_sums batch_sum(const struct batch *batch)
{
	struct batch_sums sums = { .poisoned =
		                           (int64_t)publish_letters_length(batch->dead_letters) };
	for (size_t i = 0; i < batch->count; i++) {
		const struct visit *visit = &batch->visits[i];
		sums.humans += visit->disposition == VISIT_NEW && !visit->event.is_bot;
		sums.bots += visit->disposition == VISIT_NEW && visit->event.is_bot;
		sums.duplicates += visit->disposition == VISIT_DUPLICATE;
	}
	return sums;
}
