#include "services/links-api/identity/api_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/timestamp.h"
#include "services/links-api/http/member.h"
#include "services/links-api/identity/authentication.h"

/* --- scopes --- */

/* In bit order: name i has the bit 1U << i. */
static const char *const scope_names[SCOPE_COUNT] = {
	"links:read",     "links:write",     "stats:read", "visits:read",
	"shares:read",    "shares:write",    "keys:read",  "keys:write",
	"workspace:read", "workspace:write", "admin:read", "admin:write",
};

static unsigned find_scope(const char *name, size_t len)
{
	for (unsigned i = 0; i < SCOPE_COUNT; i++)
		if (strlen(scope_names[i]) == len && memcmp(scope_names[i], name, len) == 0)
			return 1U << i;
	return 0;
}

void api_key_join_scopes(unsigned scopes, char out[static SCOPE_LIST_SIZE])
{
	size_t len = 0;
	out[0] = '\0';
	for (unsigned i = 0; i < SCOPE_COUNT; i++) {
		if (!(scopes & (1U << i)))
			continue;
		snprintf(out + len, SCOPE_LIST_SIZE - len, "%s%s", len > 0 ? "," : "",
		         scope_names[i]);
		len = strlen(out);
	}
}

unsigned api_key_split_scopes(const char *list)
{
	unsigned scopes = 0;
	while (*list) {
		size_t len = strcspn(list, ",");
		scopes |= find_scope(list, len);
		list += len;
		list += strspn(list, ",");
	}
	return scopes;
}

static struct json *scopes_json(unsigned scopes)
{
	struct json *array = json_new_array();
	for (unsigned i = 0; i < SCOPE_COUNT; i++)
		if (scopes & (1U << i))
			json_append_text(array, scope_names[i]);
	return array;
}

/* --- tags --- */

#define SEPARATOR "\x1f"

/* Copies the first tag of a list, and returns the rest. NULL: there is none. */
static const char *next_tag(const char *list, char out[static LINK_TAG_SIZE])
{
	size_t len = strcspn(list, SEPARATOR);
	if (len == 0)
		return NULL;
	snprintf(out, LINK_TAG_SIZE, "%.*s", (int)len, list);
	return list + len + (list[len] != '\0');
}

static void join_tags(const struct link_tags *tags, char out[static API_KEY_TAGS_SIZE])
{
	char *at = out;
	*at = '\0';
	for (size_t i = 0; i < tags->count; i++) {
		at = stpcpy(at, i > 0 ? SEPARATOR : "");
		at = stpcpy(at, tags->tag[i]);
	}
}

static bool has_tag(const char *list, const char *wanted)
{
	char tag[LINK_TAG_SIZE];
	while ((list = next_tag(list, tag)))
		if (strcmp(tag, wanted) == 0)
			return true;
	return false;
}

bool api_key_is_limited_within(const char *tags, const char *limits)
{
	char tag[LINK_TAG_SIZE];
	if (!*limits)
		return true;
	if (!*tags)
		return false;
	while ((tags = next_tag(tags, tag)))
		if (!has_tag(limits, tag))
			return false;
	return true;
}

static struct json *tags_json(const char *list)
{
	char tag[LINK_TAG_SIZE];
	struct json *array = json_new_array();
	while ((list = next_tag(list, tag)))
		json_append_text(array, tag);
	return array;
}

/* --- requests --- */

static void read_name(const struct json *value, struct api_key *out,
                      struct http_problem_fields *wrong)
{
	const char *name = member_text(value, "/name", wrong);
	if (name && member_is_line(name, 1, API_KEY_NAME_CHARS_MAX, "/name", wrong))
		snprintf(out->name, sizeof(out->name), "%s", name);
}

static void read_scope(const struct json *value, size_t index, struct api_key *out,
                       struct http_problem_fields *wrong)
{
	char pointer[HTTP_PROBLEM_POINTER_SIZE], all[SCOPE_LIST_SIZE];
	snprintf(pointer, sizeof(pointer), "/scopes/%zu", index);
	const char *name = member_text(value, pointer, wrong);
	unsigned scope = name ? find_scope(name, strlen(name)) : 0;
	if (!name)
		return;
	if (scope == 0) {
		api_key_join_scopes(SCOPE_ALL, all);
		http_problem_add_field(wrong, pointer, "choice", "must be one of %s", all);
	} else if (out->scopes & scope) {
		http_problem_add_field(wrong, pointer, "duplicate", "is given twice");
	} else {
		out->scopes |= scope;
	}
}

static void read_scopes(const struct json *value, struct api_key *out,
                        struct http_problem_fields *wrong)
{
	size_t count = json_type(value) == JSON_ARRAY ? json_count(value) : 0;
	out->scopes = 0;
	if (count < 1 || count > SCOPE_COUNT)
		http_problem_add_field(wrong, "/scopes", "array",
		                       "must be an array of 1 to %d scopes", SCOPE_COUNT);
	else
		for (size_t i = 0; i < count; i++)
			read_scope(json_at(value, i), i, out, wrong);
}

static void read_tags(const struct json *value, struct api_key *out,
                      struct http_problem_fields *wrong)
{
	struct link_tags tags;
	member_tags(value, "/tags", &tags, wrong);
	join_tags(&tags, out->tags);
}

static void read_maker(const struct json *value, struct api_key_change *out,
                       struct http_problem_fields *wrong)
{
	bool is_id = json_type(value) == JSON_INT && json_int(value) > 0;
	out->created_by = is_id ? json_int(value) : 0;
	if (!is_id)
		http_problem_add_field(wrong, "/created_by", "id", "must be your own id");
}

/* out->to: what the key is before. */
static void read_members(const struct json *object, int64_t now_us, struct api_key_change *out,
                         struct http_problem_fields *wrong)
{
	const struct json *name = json_get(object, "name"), *scopes = json_get(object, "scopes"),
			  *tags = json_get(object, "tags");
	struct api_key *to = &out->to;
	out->has_name = name != NULL;
	out->has_scopes = scopes != NULL;
	out->has_tags = tags != NULL;
	out->has_expiry = json_get(object, "expires_at") != NULL;
	if (name)
		read_name(name, to, wrong);
	if (scopes)
		read_scopes(scopes, to, wrong);
	if (tags)
		read_tags(tags, to, wrong);
	if (out->has_expiry)
		to->expires_at_us = 0;
	member_future_time_of(object, "expires_at", now_us, &to->expires_at_us, wrong);
	if (*to->tags && to->scopes >= SCOPE_WORKSPACE_READ)
		http_problem_add_field(wrong, "/tags", "exclusive",
		                       "cannot limit the scopes workspace:… and admin:…, which are "
		                       "not about links");
}

enum err api_key_read_body(const struct json *object, int64_t now_us, struct api_key *out,
                           struct http_problem_fields *wrong)
{
	static const char *const names[] = { "name", "scopes", "tags", "expires_at" };
	struct api_key_change read = { .created_by = 0 };
	member_reject_unknown(object, names, 4, wrong);
	read_members(object, now_us, &read, wrong);
	if (!read.has_name)
		http_problem_add_field(wrong, "/name", "required", "is required");
	if (!read.has_scopes)
		http_problem_add_field(wrong, "/scopes", "required", "is required");
	if (wrong->count > 0)
		return ERR_INVALID;
	*out = read.to;
	return OK;
}

enum err api_key_read_change(const struct json *object, int64_t now_us, const struct api_key *from,
                             struct api_key_change *out, struct http_problem_fields *wrong)
{
	static const char *const names[] = { "name", "scopes", "tags", "expires_at", "created_by" };
	struct api_key_change read = { .to = *from };
	const struct json *maker = json_get(object, "created_by");
	member_reject_unknown(object, names, 5, wrong);
	read_members(object, now_us, &read, wrong);
	if (maker)
		read_maker(maker, &read, wrong);
	if (wrong->count > 0)
		return ERR_INVALID;
	*out = read;
	return OK;
}

void api_key_check_within(const struct api_key *key, const struct api_key *limit,
                          struct http_problem_fields *wrong)
{
	char text[SCOPE_LIST_SIZE];
	unsigned more = key->scopes & ~limit->scopes;
	api_key_join_scopes(more, text);
	if (more)
		http_problem_add_field(wrong, "/scopes", "beyond-key",
		                       "has %s, which the API key of this request has not", text);
	if (!api_key_is_limited_within(key->tags, limit->tags))
		http_problem_add_field(wrong, "/tags", "beyond-key",
		                       "must be some of those to which the API key of this request "
		                       "is limited");
	if (limit->expires_at_us == 0 ||
	    (key->expires_at_us != 0 && key->expires_at_us <= limit->expires_at_us))
		return;
	timestamp_format_ms(limit->expires_at_us, text);
	http_problem_add_field(wrong, "/expires_at", "beyond-key",
	                       "must not be after %s, when the API key of this request ends", text);
}

/* --- as JSON --- */

#define ELLIPSIS "\xe2\x80\xa6"

/* Whether the key works, and why it does not. */
static const char *state_of(const struct api_key *key, const struct api_key_maker *maker,
                            int64_t now_us, unsigned usable)
{
	if (key->expires_at_us && key->expires_at_us <= now_us)
		return "expired";
	if (maker->role == WORKSPACE_STRANGER)
		return "maker-left";
	if (maker->is_blocked)
		return "maker-blocked";
	return key->scopes & usable ? "active" : "role";
}

struct json *api_key_json(const struct api_key *key, const struct api_key_maker *maker,
                          int64_t now_us)
{
	char hint[API_KEY_HINT_LENGTH + sizeof(ELLIPSIS)];
	unsigned usable = authentication_usable_scopes(maker->role, maker->is_admin);
	snprintf(hint, sizeof(hint), "%s" ELLIPSIS, key->hint);
	struct json *object = json_new_object();
	json_set_int(object, "id", key->id);
	json_set_text(object, "name", key->name);
	json_set(object, "scopes", scopes_json(key->scopes));
	json_set(object, "tags", tags_json(key->tags));
	json_set_text(object, "hint", hint);
	json_set_text(object, "state", state_of(key, maker, now_us, usable));
	json_set(object, "unusable_scopes", scopes_json(key->scopes & ~usable));
	json_set_int(object, "created_by", key->created_by);
	json_set_text(object, "created_by_email", maker->email);
	if (key->made_by_key)
		json_set_int(object, "made_by_key", key->made_by_key);
	else
		json_set_null(object, "made_by_key");
	json_set_time(object, "expires_at", key->expires_at_us);
	json_set_time(object, "old_secret_until", key->old_secret_until_us);
	json_set_time(object, "last_used_at", key->last_used_at_us);
	json_set_time(object, "created_at", key->created_at_us);
	return object;
}
