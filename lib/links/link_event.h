/*
 * LinkEvent (proto/waymark/v1/link_event.proto): one committed change of a link. Topic
 * waymark.links.v1, key = slug. Pure.
 */
#ifndef WAYMARK_LIB_LINKS_LINK_EVENT_H
#define WAYMARK_LIB_LINKS_LINK_EVENT_H

#include <stdint.h>

#include "lib/base/entropy.h"
#include "lib/base/strbuf.h"
#include "lib/links/link.h"

#define LINK_EVENT_TOPIC "waymark.links.v1"
#define LINK_EVENT_TYPE "waymark.link.v1"
#define LINK_EVENT_SCHEMA "urn:waymark:proto:waymark.v1.LinkEvent"
#define LINK_EVENT_BYTES_MAX 24576

/*
 * link.entry has the name that the record is about: an alias with alias_of, or the link's own. A
 * decoded one never has extras; lacks_extras says that the link has some.
 */
struct link_event {
	uint8_t event_id[ENTROPY_UUID_SIZE];
	int64_t occurred_at_us;
	enum link_change change;
	struct link link;
};

void link_event_encode(const struct link_event *event, struct strbuf *out);

/*
 * ERR_INVALID: not a LinkEvent, or one that violates the .proto (lengths, ranges, UTF-8 without
 * NUL). A change that only a newer sender knows reads as UPDATED; link has the current state in any
 * case. The link of a PURGED event is DELETED, so a reader that looks only at states is right as
 * well.
 */
enum err link_event_decode(const void *bytes, size_t len, struct link_event *out) MUST_CHECK;

#endif
