#include "lib/clicks/visit_event.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/links/link.h"
#include "lib/links/slug.h"
#include "lib/protobuf/protobuf.h"
#include "waymark/v1/visit_event.pb-c.h"

/* protobuf-c's structs hold char *, but packing only reads. */
#define BORROW(text) ((char *)(text))

/* Splits a copy of joined tags in text. Returns their number. */
static size_t split_tags(char *text, char *tags[static LINK_TAGS_MAX])
{
	static const char separator[] = { VISIT_EVENT_TAG_SEPARATOR, '\0' };
	size_t count = 0;
	char *rest = NULL;
	for (char *tag = strtok_r(text, separator, &rest); tag && count < LINK_TAGS_MAX;
	     tag = strtok_r(NULL, separator, &rest))
		tags[count++] = tag;
	return count;
}

void visit_event_encode(const struct visit_event *event, struct strbuf *out)
{
	Waymark__V1__VisitEvent message = WAYMARK__V1__VISIT_EVENT__INIT;
	message.event_id.data = (uint8_t *)event->event_id;
	message.event_id.len = sizeof(event->event_id);
	message.occurred_at_us = event->occurred_at_us;
	message.link_id = event->link_id;
	message.slug = BORROW(event->slug);
	message.country = BORROW(event->country);
	message.city = BORROW(event->city);
	message.browser = BORROW(event->browser);
	message.os = BORROW(event->os);
	message.device = BORROW(event->device);
	message.referrer_host = BORROW(event->referrer_host);
	message.utm_source = BORROW(event->utm_source);
	message.utm_medium = BORROW(event->utm_medium);
	message.utm_campaign = BORROW(event->utm_campaign);
	message.is_bot = event->is_bot;
	message.bot_reason = BORROW(event->bot_reason);
	message.is_unique = event->is_unique;
	message.language = BORROW(event->language);
	message.region = BORROW(event->region);
	message.browser_version = BORROW(event->browser_version);
	message.os_version = BORROW(event->os_version);
	message.referrer_source = BORROW(event->referrer_source);
	message.status = event->status;
	message.latency_us = event->latency_us;
	message.destination_host = BORROW(event->destination_host);
	message.owner_id = event->owner_id;
	char text[LINK_TAGS_MAX * LINK_TAG_SIZE];
	char *tags[LINK_TAGS_MAX];
	snprintf(text, sizeof(text), "%s", event->tags ? event->tags : "");
	message.n_tags = split_tags(text, tags);
	message.tags = tags;

	uint8_t bytes[VISIT_EVENT_BYTES_MAX];
	strbuf_add(out, bytes, waymark__v1__visit_event__pack(&message, bytes));
}

static bool decode_texts(const Waymark__V1__VisitEvent *from, struct visit_event *out)
{
	const struct {
		const char *from;
		char *to;
		size_t size;
	} texts[] = {
		{ from->slug, out->slug, sizeof(out->slug) },
		{ from->country, out->country, sizeof(out->country) },
		{ from->city, out->city, sizeof(out->city) },
		{ from->browser, out->browser, sizeof(out->browser) },
		{ from->os, out->os, sizeof(out->os) },
		{ from->device, out->device, sizeof(out->device) },
		{ from->referrer_host, out->referrer_host, sizeof(out->referrer_host) },
		{ from->utm_source, out->utm_source, sizeof(out->utm_source) },
		{ from->utm_medium, out->utm_medium, sizeof(out->utm_medium) },
		{ from->utm_campaign, out->utm_campaign, sizeof(out->utm_campaign) },
		{ from->bot_reason, out->bot_reason, sizeof(out->bot_reason) },
		{ from->language, out->language, sizeof(out->language) },
		{ from->region, out->region, sizeof(out->region) },
		{ from->browser_version, out->browser_version, sizeof(out->browser_version) },
		{ from->os_version, out->os_version, sizeof(out->os_version) },
		{ from->referrer_source, out->referrer_source, sizeof(out->referrer_source) },
		{ from->destination_host, out->destination_host, sizeof(out->destination_host) },
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!protobuf_copy_text(texts[i].from, texts[i].to, texts[i].size))
			return false;
	}
	return slug_is_valid(out->slug, strlen(out->slug));
}

static bool decode_fields(const Waymark__V1__VisitEvent *from, struct visit_event *out)
{
	if (from->event_id.len != sizeof(out->event_id) || from->occurred_at_us <= 0 ||
	    from->link_id <= 0)
		return false;
	memcpy(out->event_id, from->event_id.data, sizeof(out->event_id));
	out->occurred_at_us = from->occurred_at_us;
	out->link_id = from->link_id;
	out->is_bot = from->is_bot;
	out->is_unique = from->is_unique;
	out->status = from->status;
	out->latency_us = from->latency_us;
	out->owner_id = from->owner_id;
	return decode_texts(from, out);
}

enum err visit_event_decode(const void *bytes, size_t len, struct visit_event *out)
{
	if (len > VISIT_EVENT_BYTES_MAX)
		return ERR_INVALID;
	const char *problem;
	Waymark__V1__VisitEvent *message =
		protobuf_unpack(&waymark__v1__visit_event__descriptor, bytes, len, &problem);
	if (!message)
		return ERR_INVALID;
	struct visit_event event = { 0 };
	bool valid = decode_fields(message, &event);
	protobuf_free(message);
	if (!valid)
		return ERR_INVALID;
	*out = event;
	return OK;
}
