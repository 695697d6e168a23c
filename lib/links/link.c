#include "lib/links/link.h"

#include <string.h>

#include "lib/base/array.h"

struct name {
	int value;
	const char *text;
};

static const struct name states[] = {
	{ LINK_STATE_ACTIVE, "ACTIVE" },
	{ LINK_STATE_DISABLED, "DISABLED" },
	{ LINK_STATE_EXPIRED, "EXPIRED" },
	{ LINK_STATE_DELETED, "DELETED" },
};
static const struct name types[] = {
	{ LINK_TYPE_TEMPORARY, "TEMPORARY" },
	{ LINK_TYPE_PERMANENT, "PERMANENT" },
};

static const char *name_of(const struct name *names, size_t count, int value)
{
	for (size_t i = 0; i < count; i++) {
		if (names[i].value == value)
			return names[i].text;
	}
	return "";
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

enum link_state link_state_at(const struct link_entry *entry, int64_t now_us)
{
	if (entry->state == LINK_STATE_ACTIVE && entry->expires_at_us != 0 &&
	    entry->expires_at_us <= now_us)
		return LINK_STATE_EXPIRED;
	return entry->state;
}

bool link_redirect_status_is_valid(int64_t status)
{
	return status == 301 || status == 302 || status == 307 || status == 308;
}

const char *link_state_name(enum link_state state)
{
	return name_of(states, ARRAY_SIZE(states), (int)state);
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
	return name_of(types, ARRAY_SIZE(types), (int)type);
}

enum err link_type_parse(const char *name, enum link_type *type)
{
	int value = value_of(types, ARRAY_SIZE(types), name);
	if (value == 0)
		return ERR_INVALID;
	*type = (enum link_type)value;
	return OK;
}

size_t link_url_host(const char *url, const char **host)
{
	const char *begin = strstr(url, "://");
	*host = begin ? begin + 3 : "";
	size_t len = strcspn(*host, "/?#");
	const char *bracket = **host == '[' ? memchr(*host, ']', len) : NULL;
	const char *colon = bracket ? NULL : memchr(*host, ':', len);
	if (bracket)
		return (size_t)(bracket - *host) + 1;
	return colon ? (size_t)(colon - *host) : len;
}
