#include "services/redirector/journal/journal_shard.h"

#include <pthread.h>
#include <string.h>

#include "lib/base/mem.h"

/* Precedes the message: what the shipper needs for the key and headers of the Kafka record. */
struct head {
	uint8_t event_id[ENTROPY_UUID_SIZE];
	int64_t occurred_at_us;
	char slug[33];
	bool has_trace; /* TRACE_CONTEXT_SIZE bytes of traceparent follow, before the message */
	uint8_t zero[6];
};
/* A journal may be read by a later version of the program. */
_Static_assert(sizeof(struct head) == 64, "the size of the head is part of the format");

struct journal_shard {
	struct journal *journal;
	uint8_t instance[ENTROPY_UUID_SIZE];
	pthread_mutex_t append_lock; /* keeps the sequence in the order of the journal */
	uint64_t sequence;
	struct entropy_pool entropy;
	struct strbuf bytes;
};

struct journal_shard *journal_shard_new(const struct journal_config *config)
{
	struct journal_shard *shard = mem_zero(sizeof(*shard));
	shard->journal = journal_new(config);
	entropy_uuid4(shard->instance);
	pthread_mutex_init(&shard->append_lock, NULL);
	strbuf_init(&shard->bytes,
	            sizeof(struct head) + TRACE_CONTEXT_SIZE + REDIRECT_EVENT_BYTES_MAX);
	return shard;
}

void journal_shard_free(struct journal_shard *shard)
{
	if (!shard)
		return;
	journal_free(shard->journal);
	strbuf_clear(&shard->bytes);
	pthread_mutex_destroy(&shard->append_lock);
	free(shard);
}

static enum err append(struct journal_shard *shard, struct redirect_event *event,
                       const char *traceparent)
{
	struct head head = { .occurred_at_us = event->occurred_at_us,
		             .has_trace = traceparent[0] != '\0' };
	memcpy(event->instance, shard->instance, sizeof(event->instance));
	event->sequence = shard->sequence + 1;
	entropy_pool_uuid7(&shard->entropy, event->occurred_at_us, event->event_id);
	memcpy(head.event_id, event->event_id, sizeof(head.event_id));
	memcpy(head.slug, event->slug, sizeof(event->slug));
	strbuf_reset(&shard->bytes);
	strbuf_add(&shard->bytes, &head, sizeof(head));
	if (head.has_trace)
		strbuf_add(&shard->bytes, traceparent, TRACE_CONTEXT_SIZE);
	redirect_event_encode(event, &shard->bytes);
	enum err e = strbuf_status(&shard->bytes);
	if (e == OK)
		e = journal_append(shard->journal, shard->bytes.data, shard->bytes.len);
	if (e == OK)
		shard->sequence++;
	return e;
}

enum err journal_shard_append(struct journal_shard *shard, struct redirect_event *event,
                              const char *traceparent)
{
	pthread_mutex_lock(&shard->append_lock);
	enum err e = append(shard, event, traceparent);
	pthread_mutex_unlock(&shard->append_lock);
	return e;
}

bool journal_shard_next(struct journal_shard *shard, struct journal_shard_record *record)
{
	struct journal_record found;
	if (!journal_next(shard->journal, &found))
		return false;
	const struct head *head = found.bytes;
	size_t trace_len = head->has_trace ? TRACE_CONTEXT_SIZE : 0;
	*record = (struct journal_shard_record){
		.event_id = head->event_id,
		.occurred_at_us = head->occurred_at_us,
		.bytes = (const char *)(head + 1) + trace_len,
		.len = found.len - sizeof(*head) - trace_len,
		.ack_id = found.ack_id,
	};
	memcpy(record->slug, head->slug, sizeof(record->slug) - 1);
	memcpy(record->traceparent, head + 1, trace_len);
	return true;
}

struct journal *journal_shard_journal(struct journal_shard *shard)
{
	return shard->journal;
}
