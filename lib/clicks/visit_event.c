#include "lib/clicks/visit_event.h"

#include <assert.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/links/link.h"
#include "lib/links/slug.h"
#include "lib/protobuf/protobuf.h"
#include "waymark/v1/visit_event.pb-c.h"

/*
 * Encoding is hand-written, because a VisitEvent is encoded for each click, and protobuf-c reads
 * the description of each of its fields every time. The tests decode with the generated code, so
 * they prove that the field numbers match the .proto.
 */
enum field {
	EVENT_ID = 1,
	OCCURRED_AT_US = 2,
	LINK_ID = 3,
	SLUG = 4,
	COUNTRY = 5,
	CITY = 6,
	BROWSER = 7,
	OS = 8,
	DEVICE = 9,
	REFERRER_HOST = 10,
	UTM_SOURCE = 11,
	UTM_MEDIUM = 12,
	UTM_CAMPAIGN = 13,
	IS_BOT = 14,
	BOT_REASON = 15,
	IS_UNIQUE = 16,
	LANGUAGE = 17,
	REGION = 18,
	BROWSER_VERSION = 19,
	OS_VERSION = 20,
	REFERRER_SOURCE = 21,
	STATUS = 22,
	LATENCY_US = 23,
	DESTINATION_HOST = 24,
	WORKSPACE_ID = 25,
	TAGS = 26,
	RULE = 27,
	VARIANT = 28,
	ALIAS = 29,
	IS_SCAN = 30,
};

static_assert(sizeof(struct visit_event) + LINK_TAGS_MAX * LINK_TAG_SIZE +
                              (IS_SCAN + LINK_TAGS_MAX) * PROTOBUF_HEAD_BYTES_MAX <=
                      VISIT_EVENT_BYTES_MAX,
              "every visit fits");

/* Half of the texts are empty, and a call costs more than this question. */
static uint8_t *put_text(uint8_t *at, enum field field, const char *text)
{
	return text[0] == '\0' ? at : protobuf_put_bytes(at, field, text, strlen(text));
}

static uint8_t *put_tags(uint8_t *at, const char *tags)
{
	for (size_t count = 0; tags && count < LINK_TAGS_MAX; count++) {
		const char *end = strchrnul(tags, VISIT_EVENT_TAG_SEPARATOR);
		at = protobuf_put_bytes(at, TAGS, tags, (size_t)(end - tags));
		tags = *end == '\0' ? NULL : end + 1;
	}
	return at;
}

/* In the order of the fields, as the generated code writes them. */
void visit_event_encode(const struct visit_event *event, struct strbuf *out)
{
	uint8_t bytes[VISIT_EVENT_BYTES_MAX];
	uint8_t *at = protobuf_put_bytes(bytes, EVENT_ID, event->event_id, sizeof(event->event_id));
	at = protobuf_put_number(at, OCCURRED_AT_US, (uint64_t)event->occurred_at_us);
	at = protobuf_put_number(at, LINK_ID, (uint64_t)event->link_id);
	at = put_text(at, SLUG, event->slug);
	at = put_text(at, COUNTRY, event->country);
	at = put_text(at, CITY, event->city);
	at = put_text(at, BROWSER, event->browser);
	at = put_text(at, OS, event->os);
	at = put_text(at, DEVICE, event->device);
	at = put_text(at, REFERRER_HOST, event->referrer_host);
	at = put_text(at, UTM_SOURCE, event->utm_source);
	at = put_text(at, UTM_MEDIUM, event->utm_medium);
	at = put_text(at, UTM_CAMPAIGN, event->utm_campaign);
	at = protobuf_put_number(at, IS_BOT, event->is_bot);
	at = put_text(at, BOT_REASON, event->bot_reason);
	at = protobuf_put_number(at, IS_UNIQUE, event->is_unique);
	at = put_text(at, LANGUAGE, event->language);
	at = put_text(at, REGION, event->region);
	at = put_text(at, BROWSER_VERSION, event->browser_version);
	at = put_text(at, OS_VERSION, event->os_version);
	at = put_text(at, REFERRER_SOURCE, event->referrer_source);
	at = protobuf_put_number(at, STATUS, event->status);
	at = protobuf_put_number(at, LATENCY_US, event->latency_us);
	at = put_text(at, DESTINATION_HOST, event->destination_host);
	at = protobuf_put_number(at, WORKSPACE_ID, (uint64_t)event->workspace_id);
	at = put_tags(at, event->tags);
	at = put_text(at, RULE, event->rule);
	at = put_text(at, VARIANT, event->variant);
	at = put_text(at, ALIAS, event->alias);
	at = protobuf_put_number(at, IS_SCAN, event->scan[0] != '\0');
	strbuf_add(out, bytes, (size_t)(at - bytes));
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
		{ from->rule, out->rule, sizeof(out->rule) },
		{ from->variant, out->variant, sizeof(out->variant) },
		{ from->alias, out->alias, sizeof(out->alias) },
		{ from->is_scan ? VISIT_EVENT_SCAN : "", out->scan, sizeof(out->scan) },
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
	out->workspace_id = from->workspace_id;
	return decode_texts(from, out);
}

static bool is_among(const char *tag, const char *tags)
{
	const size_t len = strlen(tag);
	while (*tags) {
		const char *end = strchrnul(tags, VISIT_EVENT_TAG_SEPARATOR);
		if ((size_t)(end - tags) == len && memcmp(tags, tag, len) == 0)
			return true;
		tags = *end == '\0' ? end : end + 1;
	}
	return false;
}

bool visit_event_has_tag(const void *bytes, size_t len, const char *tags)
{
	const char *problem;
	bool has_tag = false;
	Waymark__V1__VisitEvent *message =
		len > VISIT_EVENT_BYTES_MAX ? NULL
					    : protobuf_unpack(&waymark__v1__visit_event__descriptor,
	                                                      bytes, len, &problem);
	for (size_t i = 0; message && !has_tag && i < message->n_tags; i++)
		has_tag = is_among(message->tags[i], tags);
	protobuf_free(message);
	return has_tag;
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
