#include "services/redirector/events/visit_recorder.h"

#include <string.h>

void visit_recorder_init(struct visit_recorder *recorder, struct event_shipper *events,
                         struct salt_cache *salts, const char *region, const struct clock *clock,
                         struct metrics *metrics)
{
	*recorder = (struct visit_recorder){ events, salts, region, clock, NULL };
	recorder->without_hash = metrics_counter(
		metrics, "waymark_events_without_visitor_hash_total",
		"Events without a visitor hash: the address or the salt of the day was not known.",
		NULL);
}

void visit_recorder_describe(const struct visit_recorder *recorder, struct http_exchange *x,
                             struct redirect_event *event)
{
	struct client_ip visitor = click_counted_visitor(x);
	click_describe(x, &visitor, recorder->salts, event);
}

/* A host that is longer than any valid one stays out of the event. */
static void copy_host(const char *url, char out[static REDIRECT_EVENT_DESTINATION_HOST_MAX + 1])
{
	const char *host;
	size_t len = link_url_host(url, &host);
	if (len > REDIRECT_EVENT_DESTINATION_HOST_MAX)
		len = 0;
	memcpy(out, host, len);
	out[len] = '\0';
}

/* A hot path: texts whose lengths were checked on input are copied without another check. */
void visit_recorder_append(const struct visit_recorder *recorder, struct http_exchange *x,
                           const struct link_entry *entry, unsigned status, const char *url,
                           struct redirect_event *event)
{
	if (!event->has_visitor_hash)
		metrics_add(recorder->without_hash, 1);
	event->link_id = entry->id;
	event->link_version = entry->version;
	event->status = status;
	copy_host(url, event->destination_host);
	click_add_campaign(url, event);
	const char *slug = entry->slug;
	if (entry->alias_of[0] != '\0') {
		memcpy(event->alias, slug, strlen(slug) + 1);
		slug = entry->alias_of;
	}
	memcpy(event->slug, slug, strlen(slug) + 1);
	memcpy(event->region, recorder->region, strlen(recorder->region) + 1);
	int64_t latency_us = clock_steady_us(recorder->clock) - http_exchange_arrived_steady_us(x);
	event->latency_us = latency_us > UINT32_MAX ? UINT32_MAX : (uint32_t)latency_us;
	const char *traceparent = http_exchange_traceparent(x);
	memcpy(event->traceparent, traceparent, strlen(traceparent) + 1);
	event_shipper_append(recorder->events, event);
}
