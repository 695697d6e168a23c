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
	batch->dead_letters = publish_letters_new(visits_max, DEAD_LETTER_BYTES_MAX_OF_BATCH, topic,
	                                          dead_letter_topic);
}

void batch_clear(struct batch *batch)
{
	free(batch->visits);
	publish_letters_free(batch->dead_letters);
	*batch = (struct batch){ 0 };
}

void batch_reset(struct batch *batch)
{
	batch->records = 0;
	batch->count = 0;
	batch->in_doubt = false;
	publish_letters_reset(batch->dead_letters);
}

/* Rejects a record whose headers declare another type. Without them, its bytes decide. */
static enum err check_headers(const struct kafka_message *message,
                              char reason[static REDIRECT_EVENT_REASON_SIZE])
{
	static const char *const expected[][2] = { { "ce_type", REDIRECT_EVENT_TYPE },
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

static enum err decode(const struct kafka_message *message, struct redirect_event *click,
                       char reason[static REDIRECT_EVENT_REASON_SIZE])
{
	if (!message->value || message->value_len == 0) {
		snprintf(reason, REDIRECT_EVENT_REASON_SIZE, "empty message");
		return ERR_INVALID;
	}
	if (check_headers(message, reason) != OK)
		return ERR_INVALID;
	return redirect_event_decode(message->value, message->value_len, click, reason);
}

/* A malformed header counts as missing. */
static void read_trace(const struct kafka_message *message, struct visit *visit)
{
	char value[TRACE_CONTEXT_SIZE];
	enum err err =
		kafka_message_header(message->record, TRACE_CONTEXT_HEADER, value, sizeof(value));
	(void)trace_context_parse(err == OK ? value : NULL, visit->traceparent);
}

void batch_add(struct batch *batch, struct enrich *enrich, const struct kafka_message *message,
               struct offsets_partition *partition, int64_t now_us)
{
	struct redirect_event click;
	char reason[REDIRECT_EVENT_REASON_SIZE] = "";
	bool counted = offsets_is_counted(partition, message->offset);
	enum err err = decode(message, &click, reason);
	batch->records++;
	offsets_extend(partition, message);
	if (err != OK) {
		/* A record before `stored` already has its dead letter. */
		if (!counted)
			publish_letters_add(batch->dead_letters, message, reason);
		return;
	}
	struct visit *visit = &batch->visits[batch->count++];
	enrich_click(enrich, &click, visit);
	read_trace(message, visit);
	visit->disposition = counted ? VISIT_ALREADY_COUNTED : VISIT_NEW;
	int64_t as_of_us = click.occurred_at_us < now_us ? click.occurred_at_us : now_us;
	if (as_of_us > partition->as_of_us)
		partition->as_of_us = as_of_us;
}

bool batch_is_empty(const struct batch *batch)
{
	return batch->records == 0;
}

bool batch_is_full(const struct batch *batch)
{
	return batch->records >= batch->visits_max || publish_letters_is_full(batch->dead_letters);
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
