#include "services/analytics-consumer/publish/visit_publisher.h"

#include <string.h>

#include "lib/base/mem.h"
#include "lib/kafka/cloud_event.h"
#include "services/analytics-consumer/publish/delivery.h"

#define SOURCE "/waymark/analytics-consumer"

struct visit_publisher {
	struct kafka_producer *producer;
	const char *topic;
	struct delivery delivery;
	struct strbuf encoded;
	size_t failures_reported;
};

struct visit_publisher *visit_publisher_new(struct kafka_producer *producer, const char *topic)
{
	struct visit_publisher *publisher = mem_zero(sizeof(*publisher));
	publisher->producer = producer;
	publisher->topic = topic;
	strbuf_init(&publisher->encoded, VISIT_EVENT_BYTES_MAX);
	return publisher;
}

void visit_publisher_free(struct visit_publisher *publisher)
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

enum err visit_publisher_send(struct visit_publisher *publisher, const struct visit *visits,
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

enum err visit_publisher_flush(struct visit_publisher *publisher, int64_t timeout_ms)
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
