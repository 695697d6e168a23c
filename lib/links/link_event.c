#include "lib/links/link_event.h"

#include <string.h>

#include "lib/base/utf8.h"
#include "lib/protobuf/protobuf.h"
#include "waymark/v1/link_event.pb-c.h"

/* protobuf-c's structs hold char *, but packing only reads. */
#define BORROW(text) ((char *)(text))

static void encode_link(const struct link *link, char **tags, Waymark__V1__Link *out)
{
	out->id = link->entry.id;
	out->slug = BORROW(link->entry.slug);
	out->version = link->entry.version;
	out->state = (Waymark__V1__LinkState)link->entry.state;
	out->link_type = (Waymark__V1__LinkType)link->type;
	out->redirect_status = link->entry.redirect_status;
	out->original_url = BORROW(link->entry.original_url);
	out->expires_at_us = link->entry.expires_at_us;
	out->expired_url = BORROW(link->entry.expired_url);
	out->workspace_id = link->workspace_id;
	out->title = BORROW(link->title);
	for (size_t i = 0; i < link->tags.count; i++)
		tags[i] = BORROW(link->tags.tag[i]);
	out->tags = tags;
	out->n_tags = link->tags.count;
	out->created_at_us = link->created_at_us;
	out->updated_at_us = link->updated_at_us;
	out->starts_at_us = link->entry.starts_at_us;
	out->slug_is_chosen = link->entry.is_slug_chosen;
	out->slug_is_exact = link->entry.is_slug_exact;
	out->has_extras = link->entry.extras_len > 0 || link->entry.lacks_extras;
	out->alias_of = BORROW(link->entry.alias_of);
	out->external_id = BORROW(link->external_id);
	out->is_blocked = link->entry.is_blocked;
}

void link_event_encode(const struct link_event *event, struct strbuf *out)
{
	char *tags[LINK_TAGS_MAX];
	Waymark__V1__Link link = WAYMARK__V1__LINK__INIT;
	encode_link(&event->link, tags, &link);

	Waymark__V1__LinkEvent message = WAYMARK__V1__LINK_EVENT__INIT;
	message.event_id.data = (uint8_t *)event->event_id;
	message.event_id.len = sizeof(event->event_id);
	message.occurred_at_us = event->occurred_at_us;
	message.change = (Waymark__V1__LinkChange)event->change;
	message.link = &link;

	uint8_t bytes[LINK_EVENT_BYTES_MAX];
	strbuf_add(out, bytes, waymark__v1__link_event__pack(&message, bytes));
}

static bool decode_tags(const Waymark__V1__Link *from, struct link_tags *out)
{
	if (from->n_tags > LINK_TAGS_MAX)
		return false;
	for (size_t i = 0; i < from->n_tags; i++) {
		size_t len = strlen(from->tags[i]);
		if (len == 0 || utf8_length(from->tags[i], len) > LINK_TAG_CHARS_MAX ||
		    !protobuf_copy_text(from->tags[i], out->tag[i], sizeof(out->tag[i])))
			return false;
	}
	out->count = from->n_tags;
	return true;
}

static bool decode_entry(const Waymark__V1__Link *from, struct link_entry *out)
{
	if (from->id <= 0 || from->version <= 0 || from->expires_at_us < 0 ||
	    from->starts_at_us < 0 || (int)from->state < LINK_STATE_ACTIVE ||
	    (int)from->state > LINK_STATE_DELETED ||
	    !link_redirect_status_is_valid(from->redirect_status))
		return false;
	out->id = from->id;
	out->version = from->version;
	out->expires_at_us = from->expires_at_us;
	out->starts_at_us = from->starts_at_us;
	out->state = (enum link_state)from->state;
	out->redirect_status = (uint16_t)from->redirect_status;
	out->is_slug_chosen = from->slug_is_chosen;
	out->is_slug_exact = from->slug_is_exact;
	out->lacks_extras = from->has_extras;
	out->is_blocked = from->is_blocked;
	size_t alias_of_len = strlen(from->alias_of);
	return slug_is_valid(from->slug, strlen(from->slug)) && from->original_url[0] != '\0' &&
	       (alias_of_len == 0 || slug_is_valid(from->alias_of, alias_of_len)) &&
	       protobuf_copy_text(from->slug, out->slug, sizeof(out->slug)) &&
	       protobuf_copy_text(from->alias_of, out->alias_of, sizeof(out->alias_of)) &&
	       protobuf_copy_text(from->original_url, out->original_url,
	                          sizeof(out->original_url)) &&
	       protobuf_copy_text(from->expired_url, out->expired_url, sizeof(out->expired_url));
}

static bool decode_link(const Waymark__V1__Link *from, struct link *out)
{
	if (((int)from->link_type != LINK_TYPE_TEMPORARY &&
	     (int)from->link_type != LINK_TYPE_PERMANENT) ||
	    from->workspace_id < 0 || from->created_at_us <= 0 || from->updated_at_us <= 0)
		return false;
	out->type = (enum link_type)from->link_type;
	out->workspace_id = from->workspace_id;
	out->created_at_us = from->created_at_us;
	out->updated_at_us = from->updated_at_us;
	return utf8_length(from->title, strlen(from->title)) <= LINK_TITLE_CHARS_MAX &&
	       protobuf_copy_text(from->title, out->title, sizeof(out->title)) &&
	       utf8_length(from->external_id, strlen(from->external_id)) <=
	               LINK_EXTERNAL_ID_CHARS_MAX &&
	       protobuf_copy_text(from->external_id, out->external_id, sizeof(out->external_id)) &&
	       decode_tags(from, &out->tags) && decode_entry(from, &out->entry);
}

static enum link_change decode_change(int change)
{
	return change > LINK_CHANGE_REPUBLISHED ? LINK_CHANGE_UPDATED : (enum link_change)change;
}

static bool decode_event(const Waymark__V1__LinkEvent *from, struct link_event *out)
{
	if (from->event_id.len != sizeof(out->event_id) || from->occurred_at_us <= 0 ||
	    (int)from->change < LINK_CHANGE_CREATED || !from->link)
		return false;
	memcpy(out->event_id, from->event_id.data, sizeof(out->event_id));
	out->occurred_at_us = from->occurred_at_us;
	out->change = decode_change((int)from->change);
	return decode_link(from->link, &out->link);
}

enum err link_event_decode(const void *bytes, size_t len, struct link_event *out)
{
	if (len > LINK_EVENT_BYTES_MAX)
		return ERR_INVALID;
	const char *problem;
	Waymark__V1__LinkEvent *message =
		protobuf_unpack(&waymark__v1__link_event__descriptor, bytes, len, &problem);
	if (!message)
		return ERR_INVALID;
	struct link_event event = { 0 };
	bool valid = decode_event(message, &event);
	protobuf_free(message);
	if (!valid)
		return ERR_INVALID;
	*out = event;
	return OK;
}
