#include "services/redirector/event_lane.h"

#include <pthread.h>
#include <string.h>

#include "lib/base/mem.h"

/* What the shipper needs for key and headers stands in front of the message. */
struct head {
	uint8_t event_id[ENTROPY_UUID_SIZE];
	int64_t occurred_at_us;
	char slug[33];
	bool has_trace; /* TRACE_CONTEXT_SIZE bytes of it follow, before the message */
	uint8_t zero[6];
};
/* Journals outlive the program that wrote them. */
_Static_assert(sizeof(struct head) == 64, "the head's size stays");

struct event_lane {
	struct journal *journal;
	uint8_t instance[ENTROPY_UUID_SIZE];
	pthread_mutex_t order; /* the sequence is the order in the journal */
	uint64_t sequence;
	struct entropy_pool entropy;
	struct strbuf bytes;
};

struct event_lane *event_lane_new(const struct journal_config *config)
{
	struct event_lane *lane = mem_zero(sizeof(*lane));
	lane->journal = journal_new(config);
	entropy_uuid4(lane->instance);
	pthread_mutex_init(&lane->order, NULL);
	strbuf_init(&lane->bytes, sizeof(struct head) + TRACE_CONTEXT_SIZE + REDIRECT_EVENT_BYTES_MAX);
	return lane;
}

void event_lane_free(struct event_lane *lane)
{
	if (!lane)
		return;
	journal_free(lane->journal);
	strbuf_clear(&lane->bytes);
	pthread_mutex_destroy(&lane->order);
	free(lane);
}

static enum err append(struct event_lane *lane, struct redirect_event *event, const char *traceparent)
{
	struct head head = { .occurred_at_us = event->occurred_at_us, .has_trace = traceparent[0] != '\0' };
	memcpy(event->instance, lane->instance, sizeof(event->instance));
	event->sequence = lane->sequence + 1;
	entropy_pool_uuid7(&lane->entropy, event->occurred_at_us, event->event_id);
	memcpy(head.event_id, event->event_id, sizeof(head.event_id));
	memcpy(head.slug, event->slug, sizeof(event->slug));
	strbuf_reset(&lane->bytes);
	strbuf_add(&lane->bytes, &head, sizeof(head));
	if (head.has_trace)
		strbuf_add(&lane->bytes, traceparent, TRACE_CONTEXT_SIZE);
	redirect_event_encode(event, &lane->bytes);
	enum err e = strbuf_status(&lane->bytes);
	if (e == OK)
		e = journal_append(lane->journal, lane->bytes.data, lane->bytes.len);
	if (e == OK)
		lane->sequence++;
	return e;
}

enum err event_lane_append(struct event_lane *lane, struct redirect_event *event, const char *traceparent)
{
	pthread_mutex_lock(&lane->order);
	enum err e = append(lane, event, traceparent);
	pthread_mutex_unlock(&lane->order);
	return e;
}

bool event_lane_next(struct event_lane *lane, struct event_lane_record *record)
{
	struct journal_record found;
	if (!journal_next(lane->journal, &found))
		return false;
	const struct head *head = found.bytes;
	size_t trace_len = head->has_trace ? TRACE_CONTEXT_SIZE : 0;
	*record = (struct event_lane_record){
		.event_id = head->event_id,
		.occurred_at_us = head->occurred_at_us,
		.bytes = (const char *)(head + 1) + trace_len,
		.len = found.len - sizeof(*head) - trace_len,
		.ticket = found.ticket,
	};
	memcpy(record->slug, head->slug, sizeof(record->slug) - 1);
	memcpy(record->traceparent, head + 1, trace_len);
	return true;
}

struct journal *event_lane_journal(struct event_lane *lane)
{
	return lane->journal;
}
