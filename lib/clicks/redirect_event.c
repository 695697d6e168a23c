#include "lib/clicks/redirect_event.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/links/slug.h"
#include "lib/net/protobuf.h"
#include "waymark/v1/redirect_event.pb-c.h"

/* protobuf-c's structs hold char *, but packing only reads. */
#define BORROW(text) ((char *)(text))

/* What is stored as PostgreSQL's integer. A process that was frozen for longer still counts its click. */
#define LATENCY_MAX_US UINT32_C(2147483647)
/* The year 10000: behind it texts of times get longer. */
#define TIME_MAX_US (INT64_C(253402300800) * CLOCK_US_PER_S)

static ProtobufCBinaryData borrow_bytes(const uint8_t *bytes, size_t len)
{
	return (ProtobufCBinaryData){ .data = (uint8_t *)bytes, .len = len };
}

void redirect_event_encode(const struct redirect_event *event, struct strbuf *out)
{
	Waymark__V1__RedirectEvent message = WAYMARK__V1__REDIRECT_EVENT__INIT;
	message.event_id = borrow_bytes(event->event_id, sizeof(event->event_id));
	message.occurred_at_us = event->occurred_at_us;
	message.link_id = event->link_id;
	message.slug = BORROW(event->slug);
	message.link_version = event->link_version;
	message.client_network = BORROW(event->client_network);
	if (event->has_visitor_hash)
		message.visitor_hash = borrow_bytes(event->visitor_hash, sizeof(event->visitor_hash));
	message.user_agent = BORROW(event->user_agent);
	message.referrer = BORROW(event->referrer);
	message.accept_language = BORROW(event->accept_language);
	message.host = BORROW(event->host);
	message.query = BORROW(event->query);
	message.status = event->status;
	message.latency_us = event->latency_us < LATENCY_MAX_US ? event->latency_us : LATENCY_MAX_US;
	message.method = (Waymark__V1__Method)event->method;
	message.prefetch = event->prefetch;
	message.region = BORROW(event->region);
	message.instance = borrow_bytes(event->instance, sizeof(event->instance));
	message.sequence = event->sequence;

	uint8_t bytes[REDIRECT_EVENT_BYTES_MAX];
	strbuf_add(out, bytes, waymark__v1__redirect_event__pack(&message, bytes));
}

/* Each reader below gives the name of the field that breaks a promise, or NULL. */

static const char *decode_ids(const Waymark__V1__RedirectEvent *from, struct redirect_event *out)
{
	if (from->event_id.len != sizeof(out->event_id))
		return "event_id";
	if (from->instance.len != sizeof(out->instance))
		return "instance";
	if (from->visitor_hash.len != 0 && from->visitor_hash.len != sizeof(out->visitor_hash))
		return "visitor_hash";
	if (from->link_id <= 0)
		return "link_id";
	if (from->link_version <= 0)
		return "link_version";
	memcpy(out->event_id, from->event_id.data, sizeof(out->event_id));
	memcpy(out->instance, from->instance.data, sizeof(out->instance));
	out->has_visitor_hash = from->visitor_hash.len > 0;
	if (out->has_visitor_hash)
		memcpy(out->visitor_hash, from->visitor_hash.data, sizeof(out->visitor_hash));
	out->link_id = from->link_id;
	out->link_version = from->link_version;
	out->sequence = from->sequence;
	return NULL;
}

static const char *decode_numbers(const Waymark__V1__RedirectEvent *from, struct redirect_event *out)
{
	if (from->occurred_at_us <= 0 || from->occurred_at_us >= TIME_MAX_US)
		return "occurred_at_us";
	if (from->status < 100 || from->status > 599)
		return "status";
	if (from->latency_us > LATENCY_MAX_US)
		return "latency_us";
	if ((int)from->method != REDIRECT_METHOD_GET && (int)from->method != REDIRECT_METHOD_HEAD)
		return "method";
	out->occurred_at_us = from->occurred_at_us;
	out->status = from->status;
	out->latency_us = from->latency_us;
	out->method = (enum redirect_method)from->method;
	out->prefetch = from->prefetch;
	return NULL;
}

static const char *decode_texts(const Waymark__V1__RedirectEvent *from, struct redirect_event *out)
{
	if (!slug_is_valid(from->slug, strlen(from->slug)))
		return "slug";
	const struct {
		const char *name;
		const char *from;
		char *to;
		size_t size;
	} texts[] = {
		{ "slug", from->slug, out->slug, sizeof(out->slug) },
		{ "client_network", from->client_network, out->client_network, sizeof(out->client_network) },
		{ "user_agent", from->user_agent, out->user_agent, sizeof(out->user_agent) },
		{ "referrer", from->referrer, out->referrer, sizeof(out->referrer) },
		{ "accept_language", from->accept_language, out->accept_language, sizeof(out->accept_language) },
		{ "host", from->host, out->host, sizeof(out->host) },
		{ "query", from->query, out->query, sizeof(out->query) },
		{ "region", from->region, out->region, sizeof(out->region) },
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!protobuf_copy_text(texts[i].from, texts[i].to, texts[i].size))
			return texts[i].name;
	}
	return NULL;
}

static const char *decode_fields(const Waymark__V1__RedirectEvent *from, struct redirect_event *out)
{
	const char *problem = decode_ids(from, out);
	if (!problem)
		problem = decode_numbers(from, out);
	if (!problem)
		problem = decode_texts(from, out);
	return problem;
}

enum err redirect_event_decode(const void *bytes, size_t len, struct redirect_event *out,
                               char reason[static REDIRECT_EVENT_REASON_SIZE])
{
	if (len > REDIRECT_EVENT_BYTES_MAX) {
		snprintf(reason, REDIRECT_EVENT_REASON_SIZE, "message: %zu bytes", len);
		return ERR_INVALID;
	}
	struct redirect_event event = { 0 };
	const char *problem;
	Waymark__V1__RedirectEvent *message =
		protobuf_unpack(&waymark__v1__redirect_event__descriptor, bytes, len, &problem);
	if (message)
		problem = decode_fields(message, &event);
	if (problem)
		snprintf(reason, REDIRECT_EVENT_REASON_SIZE, "%s", problem);
	else
		*out = event;
	protobuf_free(message);
	return problem ? ERR_INVALID : OK;
}
