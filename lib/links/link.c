#include "lib/links/link.h"

#include <string.h>
#include <strings.h>

#include "lib/base/array.h"
#include "lib/base/url.h"

struct name {
	int value;
	/* In the API. */
	const char *text;
	/* In the database. */
	const char *stored;
};

static const struct name states[] = {
	{ LINK_STATE_ACTIVE, "active", "ACTIVE" },
	{ LINK_STATE_DISABLED, "disabled", "DISABLED" },
	{ LINK_STATE_EXPIRED, "expired", "EXPIRED" },
	{ LINK_STATE_DELETED, "deleted", "DELETED" },
	{ LINK_STATE_SCHEDULED, "scheduled", "SCHEDULED" },
};
static const struct name types[] = {
	{ LINK_TYPE_TEMPORARY, "temporary", "TEMPORARY" },
	{ LINK_TYPE_PERMANENT, "permanent", "PERMANENT" },
};

static const struct name *find(const struct name *names, size_t count, int value)
{
	static const struct name unknown = { 0, "", "" };
	for (size_t i = 0; i < count; i++) {
		if (names[i].value == value)
			return &names[i];
	}
	return &unknown;
}

/* 0 if there is no such name. */
static int value_of(const struct name *names, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i].text, text) == 0)
			return names[i].value;
	}
	return 0;
}

static int value_of_stored(const struct name *names, size_t count, const char *stored)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i].stored, stored) == 0)
			return names[i].value;
	}
	return 0;
}

enum link_state link_state_at(const struct link_entry *entry, int64_t now_us)
{
	if (entry->state != LINK_STATE_ACTIVE)
		return entry->state;
	if (entry->expires_at_us != 0 && entry->expires_at_us <= now_us)
		return LINK_STATE_EXPIRED;
	return entry->starts_at_us > now_us ? LINK_STATE_SCHEDULED : LINK_STATE_ACTIVE;
}

size_t link_entry_size(const struct link_entry *entry)
{
	return offsetof(struct link_entry, extras) + entry->extras_len;
}

void link_copy(struct link *out, const struct link *from)
{
	memcpy(&out->entry, &from->entry, link_entry_size(&from->entry));
	memcpy(&out->type, &from->type, sizeof(*from) - offsetof(struct link, type));
}

size_t link_key(const struct link_entry *entry, char out[static SLUG_KEY_SIZE])
{
	return slug_key(entry->slug, entry->is_slug_exact, out);
}

bool link_is_respelled(const struct link_entry *entry)
{
	return !entry->is_slug_exact && strcasecmp(entry->slug, entry->alias_of) == 0;
}

bool link_answers_to(const struct link_entry *entry, const char *slug)
{
	return strcmp(entry->slug, slug) == 0 || (entry->is_slug_chosen && !entry->is_slug_exact &&
	                                          strcasecmp(entry->slug, slug) == 0);
}

bool link_redirect_status_is_valid(int64_t status)
{
	return status == 301 || status == 302 || status == 307 || status == 308;
}

const char *link_state_name(enum link_state state)
{
	return find(states, ARRAY_SIZE(states), (int)state)->text;
}

size_t link_tags_find(const struct link_tags *tags, const char *name)
{
	size_t at = 0;
	while (at < tags->count && strcmp(tags->tag[at], name) != 0)
		at++;
	return at;
}

enum err link_state_parse(const char *name, enum link_state *state)
{
	int value = value_of(states, ARRAY_SIZE(states), name);
	if (value == 0)
		return ERR_INVALID;
	*state = (enum link_state)value;
	return OK;
}

const char *link_type_name(enum link_type type)
{
	return find(types, ARRAY_SIZE(types), (int)type)->text;
}

enum err link_type_parse(const char *name, enum link_type *type)
{
	int value = value_of(types, ARRAY_SIZE(types), name);
	if (value == 0)
		return ERR_INVALID;
	*type = (enum link_type)value;
	return OK;
}

const char *link_state_stored(enum link_state state)
{
	return find(states, ARRAY_SIZE(states), (int)state)->stored;
}

enum err link_state_parse_stored(const char *stored, enum link_state *state)
{
	int value = value_of_stored(states, ARRAY_SIZE(states), stored);
	if (value == 0)
		return ERR_INVALID;
	*state = (enum link_state)value;
	return OK;
}

const char *link_type_stored(enum link_type type)
{
	return find(types, ARRAY_SIZE(types), (int)type)->stored;
}

enum err link_type_parse_stored(const char *stored, enum link_type *type)
{
	int value = value_of_stored(types, ARRAY_SIZE(types), stored);
	if (value == 0)
		return ERR_INVALID;
	*type = (enum link_type)value;
	return OK;
}

size_t link_url_host(const char *url, const char **host)
{
	struct url parts;
	*host = "";
	if (url_split(url, strlen(url), &parts) != OK)
		return 0;
	*host = parts.host.text;
	return parts.host.len;
}
