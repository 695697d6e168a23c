/*
 * VisitEvent (proto/waymark/v1/visit_event.proto): one counted visit, for integrations. Topic
 * waymark.visits.v1, key = slug. The consumer also uses the struct to hold the facts derived from a
 * click; a text has the name of its column of visit_log (visit_dimension.h). Pure.
 */
#ifndef WAYMARK_LIB_CLICKS_VISIT_EVENT_H
#define WAYMARK_LIB_CLICKS_VISIT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/entropy.h"
#include "lib/base/strbuf.h"
#include "lib/clicks/redirect_event.h"
#include "lib/links/slug.h"

#define VISIT_EVENT_TOPIC "waymark.visits.v1"
#define VISIT_EVENT_TYPE "waymark.visit.v1"
#define VISIT_EVENT_SCHEMA "urn:waymark:proto:waymark.v1.VisitEvent"
#define VISIT_EVENT_BYTES_MAX 8192
#define VISIT_EVENT_SCAN "scan"
/* Separates tags; a tag has no control characters. */
#define VISIT_EVENT_TAG_SEPARATOR '\x1f'

struct visit_event {
	uint8_t event_id[ENTROPY_UUID_SIZE];
	int64_t occurred_at_us;
	int64_t link_id;
	char slug[SLUG_SIZE];
	char country[3];
	char region[8];
	char city[64];
	char browser[64];
	char browser_version[32];
	char os[64];
	char os_version[32];
	/* Desktop, mobile, tablet, bot, other. */
	char device[16];
	char language[16];
	char referrer_host[256];
	char referrer_source[32];
	char utm_source[128];
	char utm_medium[128];
	char utm_campaign[128];
	bool is_bot;
	char bot_reason[32];
	bool is_unique;
	uint32_t status;
	uint32_t latency_us;
	char destination_host[254];
	/* Names; "" = none. */
	char rule[REDIRECT_EVENT_NAME_MAX + 1];
	char variant[REDIRECT_EVENT_NAME_MAX + 1];
	/* "" = slug. */
	char alias[SLUG_SIZE];
	/* "scan" of a QR code, or "": is_scan of the event. */
	char scan[sizeof(VISIT_EVENT_SCAN)];
	/* 0 = of nobody. */
	int64_t workspace_id;
	/* Joined by VISIT_EVENT_TAG_SEPARATOR; NULL = none. Borrowed. */
	const char *tags;
};

void visit_event_encode(const struct visit_event *event, struct strbuf *out);

/*
 * Whether a VisitEvent has one of the tags, which VISIT_EVENT_TAG_SEPARATOR separates. False also: it is
 * not a VisitEvent.
 */
bool visit_event_has_tag(const void *bytes, size_t len, const char *tags);

/* ERR_INVALID: not a VisitEvent. Leaves out the tags. For tests and for subscribers in C. */
enum err visit_event_decode(const void *bytes, size_t len, struct visit_event *out) MUST_CHECK;

#endif
