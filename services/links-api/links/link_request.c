#include "services/links-api/links/link_request.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/timestamp.h"
#include "lib/base/url.h"
#include "lib/base/utf8.h"
#include "services/links-api/destinations/destination_check.h"
#include "services/links-api/http/member.h"
#include "services/links-api/links/link_notes_store.h"
#include "services/links-api/links/reserved_slugs.h"
#include "services/links-api/links/utm.h"

#define DEFAULT_REDIRECT_STATUS 302

struct reading {
	const struct public_base *base;
	int64_t now_us;
	struct link_request *out;
	struct http_problem_fields *wrong;
};

static void read_original_url(const struct reading *r, const struct json *value,
                              const char *pointer)
{
	r->out->original_url = destination_check(r->base, value, pointer, true, r->wrong);
}

static void read_expired_url(const struct reading *r, const struct json *value, const char *pointer)
{
	if (json_type(value) != JSON_NULL)
		r->out->expired_url = destination_check(r->base, value, pointer, false, r->wrong);
}

enum link_request_slug link_request_judge_slug(const struct public_base *base, const char *slug)
{
	if (!slug_is_valid(slug, strlen(slug)) || strlen(slug) > base->slug_length_max)
		return LINK_REQUEST_SLUG_INVALID;
	if (slug_is_reserved(slug) ||
	    (base->reserved && reserved_slugs_contain(base->reserved, slug)))
		return LINK_REQUEST_SLUG_RESERVED;
	return LINK_REQUEST_SLUG_ALLOWED;
}

static void read_slug(const struct reading *r, const struct json *value, const char *pointer)
{
	const char *slug = member_text(value, pointer, r->wrong);
	if (!slug)
		return;
	enum link_request_slug judged = link_request_judge_slug(r->base, slug);
	if (judged == LINK_REQUEST_SLUG_INVALID)
		http_problem_add_field(
			r->wrong, pointer, "slug",
			"must have 1 to %zu characters of A-Z, a-z, 0-9, _, - and ., "
			"without . at either end",
			r->base->slug_length_max);
	else if (judged == LINK_REQUEST_SLUG_RESERVED)
		http_problem_add_field(r->wrong, pointer, "slug-reserved", "is reserved");
	else
		snprintf(r->out->slug, sizeof(r->out->slug), "%s", slug);
}

static void read_redirect_status(const struct reading *r, const struct json *value,
                                 const char *pointer)
{
	if (json_type(value) == JSON_INT && link_redirect_status_is_valid(json_int(value)))
		r->out->redirect_status = (uint16_t)json_int(value);
	else
		http_problem_add_field(r->wrong, pointer, "choice", "must be 301, 302, 307 or 308");
}

/* False: null, or not a time, which is reported. */
static bool read_time(const struct reading *r, const struct json *value, const char *pointer,
                      int64_t *at_us)
{
	const char *text =
		json_type(value) == JSON_NULL ? NULL : member_text(value, pointer, r->wrong);
	if (!text)
		return false;
	bool is_time = timestamp_parse(text, at_us) == OK;
	if (!is_time)
		http_problem_add_field(
			r->wrong, pointer, "time",
			"must be an RFC 3339 timestamp like 2026-11-20T08:00:00.123Z");
	return is_time;
}

static void read_expires_at(const struct reading *r, const struct json *value, const char *pointer)
{
	int64_t at_us;
	if (!read_time(r, value, pointer, &at_us))
		return;
	if (at_us <= r->now_us)
		http_problem_add_field(r->wrong, pointer, "past", "must be in the future");
	else
		r->out->expires_at_us = at_us;
}

static void read_starts_at(const struct reading *r, const struct json *value, const char *pointer)
{
	int64_t at_us;
	if (read_time(r, value, pointer, &at_us) && at_us > 0)
		r->out->starts_at_us = at_us;
}

static void read_title(const struct reading *r, const struct json *value, const char *pointer)
{
	if (json_type(value) == JSON_NULL)
		return;
	const char *title = member_text(value, pointer, r->wrong);
	if (title && member_is_line(title, 0, LINK_TITLE_CHARS_MAX, pointer, r->wrong))
		snprintf(r->out->title, sizeof(r->out->title), "%s", title);
}

static void read_notes(const struct reading *r, const struct json *value, const char *pointer)
{
	if (json_type(value) == JSON_NULL)
		return;
	const char *notes = member_text(value, pointer, r->wrong);
	if (notes && member_is_text(notes, LINK_NOTES_CHARS_MAX, pointer, r->wrong))
		r->out->notes = mem_text(notes);
}

/* As a tag, it can be a segment of a path. */
static bool is_external_id(const char *text, const char *pointer, struct http_problem_fields *wrong)
{
	if (!member_is_line(text, 1, LINK_EXTERNAL_ID_CHARS_MAX, pointer, wrong))
		return false;
	if (strcmp(text, ".") != 0 && strcmp(text, "..") != 0)
		return true;
	http_problem_add_field(wrong, pointer, "dots", "must not be . or ..");
	return false;
}

static void read_external_id(const struct reading *r, const struct json *value, const char *pointer)
{
	if (json_type(value) == JSON_NULL)
		return;
	const char *text = member_text(value, pointer, r->wrong);
	if (text && is_external_id(text, pointer, r->wrong))
		snprintf(r->out->external_id, sizeof(r->out->external_id), "%s", text);
}

/* Also add_tags: a request that has both is refused. */
static void read_tags(const struct reading *r, const struct json *value, const char *pointer)
{
	member_tags(value, pointer, &r->out->tags, r->wrong);
}

static void read_removed_tags(const struct reading *r, const struct json *value,
                              const char *pointer)
{
	if (!r->out->removed_tags)
		r->out->removed_tags = mem_zero(sizeof(*r->out->removed_tags));
	member_tags(value, pointer, r->out->removed_tags, r->wrong);
}

static void read_state(const struct reading *r, const struct json *value, const char *pointer)
{
	const char *name = json_type(value) == JSON_TEXT ? json_text(value, NULL) : "";
	enum link_state state;
	if (link_state_parse(name, &state) == OK &&
	    (state == LINK_STATE_ACTIVE || state == LINK_STATE_DISABLED))
		r->out->state = state;
	else
		http_problem_add_field(r->wrong, pointer, "choice", "must be active or disabled");
}

static void read_reuse(const struct reading *r, const struct json *value, const char *pointer)
{
	if (json_type(value) == JSON_BOOL)
		r->out->reuse = json_bool(value);
	else
		http_problem_add_field(r->wrong, pointer, "type", "must be true or false");
}

/* "utm_source" … */
static void read_utm(const struct reading *r, const struct json *value, const char *pointer)
{
	for (size_t i = 0; i < UTM_COUNT; i++)
		if (strcmp(pointer + 1, utm_name(i)) == 0)
			utm_read(&r->out->utm, i, value, pointer, r->wrong);
}

/* link_extras_request_read reads all of them together. */
static void leave_extras(const struct reading *r, const struct json *value, const char *pointer)
{
	(void)r;
	(void)value;
	(void)pointer;
}

#define CREATE (LINK_REQUEST_CREATE | LINK_REQUEST_CREATE_PUBLIC)
#define OF_EXTRAS(name)                                                                            \
	{                                                                                          \
		name, LINK_REQUEST_EXTRAS, LINK_REQUEST_CREATE | CHANGE, leave_extras,             \
			"cannot be set without a login"                                            \
	}
#define OF_UTM(name)                                                                               \
	{                                                                                          \
		name, LINK_REQUEST_UTM, CREATE | CHANGE, read_utm, NULL                            \
	}
#define CHANGE LINK_REQUEST_CHANGE

static const struct {
	const char *name;
	enum link_request_member member;
	/* Request kinds that allow it. */
	unsigned kinds;
	void (*read)(const struct reading *r, const struct json *value, const char *pointer);
	/* The error for other kinds. */
	const char *detail;
} members[] = {
	{ "original_url", LINK_REQUEST_ORIGINAL_URL, CREATE | CHANGE, read_original_url, NULL },
	{ "slug", LINK_REQUEST_SLUG, CREATE | CHANGE, read_slug, NULL },
	{ "redirect_status", LINK_REQUEST_REDIRECT_STATUS, CREATE | CHANGE, read_redirect_status,
	  NULL },
	{ "starts_at", LINK_REQUEST_STARTS_AT, LINK_REQUEST_CREATE | CHANGE, read_starts_at,
	  "cannot be set without a login" },
	{ "expires_at", LINK_REQUEST_EXPIRES_AT, LINK_REQUEST_CREATE | CHANGE, read_expires_at,
	  "cannot be set without a login" },
	{ "expired_url", LINK_REQUEST_EXPIRED_URL, CREATE | CHANGE, read_expired_url, NULL },
	{ "title", LINK_REQUEST_TITLE, CREATE | CHANGE, read_title, NULL },
	{ "tags", LINK_REQUEST_TAGS, CREATE | CHANGE, read_tags, NULL },
	{ "add_tags", LINK_REQUEST_ADD_TAGS, CHANGE, read_tags, "is for changes; use tags" },
	{ "remove_tags", LINK_REQUEST_REMOVE_TAGS, CHANGE, read_removed_tags,
	  "is for changes; use tags" },
	{ "notes", LINK_REQUEST_NOTES, LINK_REQUEST_CREATE | CHANGE, read_notes,
	  "cannot be set without a login" },
	{ "external_id", LINK_REQUEST_EXTERNAL_ID, LINK_REQUEST_CREATE | CHANGE, read_external_id,
	  "cannot be set without a login" },
	{ "state", LINK_REQUEST_STATE, CHANGE, read_state, "cannot be set on a new link" },
	{ "reuse", LINK_REQUEST_REUSE, LINK_REQUEST_CREATE, read_reuse,
	  "is only allowed when you create a link with a login" },
	OF_UTM("utm_source"),
	OF_UTM("utm_medium"),
	OF_UTM("utm_campaign"),
	OF_UTM("utm_term"),
	OF_UTM("utm_content"),
	OF_EXTRAS("rules"),
	OF_EXTRAS("split"),
	OF_EXTRAS("forward_query"),
	OF_EXTRAS("forward_path"),
	OF_EXTRAS("max_visits"),
	OF_EXTRAS("password"),
	OF_EXTRAS("preview"),
};
#define MEMBER_COUNT ARRAY_SIZE(members)

static void read_member(const struct reading *r, enum link_request_kind kind, const char *name,
                        const struct json *value)
{
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	member_pointer(name, pointer);
	for (size_t i = 0; i < MEMBER_COUNT; i++) {
		if (strcmp(members[i].name, name) != 0)
			continue;
		if (members[i].kinds & kind) {
			r->out->members |= members[i].member;
			members[i].read(r, value, pointer);
		} else {
			http_problem_add_field(r->wrong, pointer, "not-allowed", "%s",
			                       members[i].detail);
		}
		return;
	}
	http_problem_add_field(r->wrong, pointer, "unknown", "unknown field");
}

/* Of a new link the destination is known. */
static void apply_utm(const struct reading *r)
{
	struct link_request *out = r->out;
	char url[LINK_URL_SIZE];
	if (!out->utm || !out->original_url)
		return;
	enum err err = utm_apply(out->utm, out->original_url, out->destination_bytes_max, url);
	free(out->utm);
	out->utm = NULL;
	if (err == OK) {
		free(out->original_url);
		out->original_url = mem_text(url);
	} else if (err == ERR_LIMIT) {
		http_problem_add_field(r->wrong, "/original_url", "too-many-bytes",
		                       "must have at most %zu bytes with its utm parameters",
		                       out->destination_bytes_max);
	} else {
		http_problem_add_field(
			r->wrong, "/original_url", "url-scheme",
			"must begin with http:// or https:// to have utm parameters");
	}
}

/* A link of any extras might be the one to reuse, and none that was asked for. */
static void refuse_extras_with_reuse(const struct reading *r)
{
	const struct link_extras_request *extras = &r->out->extras;
	unsigned features = extras->extras ? link_extras_features(extras->extras) : 0;
	if (r->out->reuse &&
	    (features & ~LINK_FEATURE_FORWARD || link_extras_request_needs_hash(extras)))
		http_problem_add_field(
			r->wrong, "/reuse", "exclusive",
			"is not for links with rules, a split, max_visits, a password or a "
			"preview");
}

enum err link_request_read(const struct json *object, enum link_request_kind kind,
                           const struct public_base *base, int64_t now_us, struct link_request *out,
                           struct http_problem_fields *wrong)
{
	struct link_request read = { .is_slug_exact = base->is_slug_exact,
		                     .destination_bytes_max = base->destination_bytes_max };
	struct reading r = { .base = base, .now_us = now_us, .out = &read, .wrong = wrong };
	const char *name;
	struct json *value;
	for (size_t at = 0; (at = json_next(object, at, &name, &value));)
		read_member(&r, kind, name, value);
	if (kind != LINK_REQUEST_CREATE_PUBLIC)
		link_extras_request_read(object, base, &read.extras, wrong);
	apply_utm(&r);
	refuse_extras_with_reuse(&r);
	if (kind != LINK_REQUEST_CHANGE && !(read.members & LINK_REQUEST_ORIGINAL_URL))
		http_problem_add_field(wrong, "/original_url", "required", "is required");
	if (read.expires_at_us != 0 && read.starts_at_us >= read.expires_at_us)
		http_problem_add_field(wrong, "/starts_at", "order", "must be before expires_at");
	if ((read.members & LINK_REQUEST_TAGS) &&
	    (read.members & (LINK_REQUEST_ADD_TAGS | LINK_REQUEST_REMOVE_TAGS)))
		http_problem_add_field(wrong, "/tags", "exclusive",
		                       "replaces all tags; use it or add_tags and remove_tags");
	if (wrong->count > 0) {
		link_request_clear(&read);
		return ERR_INVALID;
	}
	*out = read;
	return OK;
}

void link_request_clear(struct link_request *request)
{
	free(request->original_url);
	request->original_url = NULL;
	free(request->expired_url);
	request->expired_url = NULL;
	free(request->notes);
	request->notes = NULL;
	free(request->removed_tags);
	request->removed_tags = NULL;
	free(request->utm);
	request->utm = NULL;
	link_extras_request_clear(&request->extras);
}

void link_request_reject_in_bulk(const struct json *object, struct http_problem_fields *wrong)
{
	static const char *const single[] = { "rules", "split", "password", "preview" };
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	for (size_t i = 0; i < ARRAY_SIZE(single); i++) {
		if (!json_get(object, single[i]))
			continue;
		member_pointer(single[i], pointer);
		http_problem_add_field(wrong, pointer, "not-allowed", "cannot be set in bulk");
	}
}

struct link_write_new link_request_new_link(const struct link_request *request,
                                            int64_t workspace_id)
{
	bool has_status = request->members & LINK_REQUEST_REDIRECT_STATUS;
	return (struct link_write_new){
		.slug = request->members & LINK_REQUEST_SLUG ? request->slug : NULL,
		.is_slug_chosen = request->members & LINK_REQUEST_SLUG,
		.is_slug_exact = request->is_slug_exact,
		.original_url = request->original_url,
		.expired_url = request->expired_url,
		.title = request->title,
		.tags = &request->tags,
		.redirect_status = has_status ? request->redirect_status : DEFAULT_REDIRECT_STATUS,
		.starts_at_us = request->starts_at_us,
		.expires_at_us = request->expires_at_us,
		.workspace_id = workspace_id,
		.extras = request->extras.packed,
		.extras_len = request->extras.packed_len,
		.features = request->extras.features,
		.external_id = request->external_id,
	};
}

/* --- paths --- */

/* ERR_INVALID: a malformed escape, NUL, a slash, no UTF-8 or too long. */
static enum err decode(const char *segment, char *out, size_t size)
{
	size_t len = strlen(segment);
	size_t count = 0;
	if (strchr(segment, '/'))
		return ERR_INVALID;
	for (size_t at = 0; at < len;) {
		int c = url_decode_next(segment, len, &at);
		if (c <= 0 || count == size - 1)
			return ERR_INVALID;
		out[count++] = (char)c;
	}
	out[count] = '\0';
	return utf8_is_valid(out, count) ? OK : ERR_INVALID;
}

enum err link_request_read_external_id_path(const char *segment,
                                            char out[static LINK_EXTERNAL_ID_SIZE])
{
	struct http_problem_fields unused = { 0 };
	bool is_id = decode(segment, out, LINK_EXTERNAL_ID_SIZE) == OK &&
	             is_external_id(out, "", &unused);
	return is_id ? OK : ERR_NOT_FOUND;
}

enum err link_request_read_slug_path(const char *segment, char out[static SLUG_SIZE])
{
	bool is_slug = decode(segment, out, SLUG_SIZE) == OK && slug_is_valid(out, strlen(out));
	return is_slug ? OK : ERR_NOT_FOUND;
}

/* --- a tag --- */

enum err link_request_read_tag_path(const char *segment, char out[static LINK_TAG_SIZE])
{
	char text[LINK_TAG_SIZE];
	struct http_problem_fields unused = { 0 };
	bool is_name =
		decode(segment, text, sizeof(text)) == OK && member_tag(text, "", out, &unused);
	return is_name ? OK : ERR_NOT_FOUND;
}

static void read_tag_name(const struct json *object, struct link_request_tag *out,
                          struct http_problem_fields *wrong)
{
	const char *name = member_text_of(object, "name", false, wrong);
	out->has_name = name && member_tag(name, "/name", out->name, wrong);
}

static bool is_color(const char *text)
{
	return text[0] == '#' && strlen(text) == TAG_COLOR_SIZE - 1 &&
	       strspn(text + 1, "0123456789abcdefABCDEF") == TAG_COLOR_SIZE - 2;
}

static void read_color(const struct json *object, struct link_request_tag *out,
                       struct http_problem_fields *wrong)
{
	const struct json *value = json_get(object, "color");
	out->has_color = value != NULL;
	if (!value || json_type(value) == JSON_NULL)
		return;
	const char *text = json_type(value) == JSON_TEXT ? json_text(value, NULL) : "";
	if (!is_color(text)) {
		http_problem_add_field(wrong, "/color", "color",
		                       "must be null or six hexadecimal digits after #, like "
		                       "#1b7f4d");
		return;
	}
	for (size_t i = 0; i < TAG_COLOR_SIZE; i++)
		out->color[i] = (char)tolower((unsigned char)text[i]);
}

enum err link_request_read_tag(const struct json *object, struct link_request_tag *out,
                               struct http_problem_fields *wrong)
{
	static const char *const names[] = { "name", "color" };
	struct link_request_tag read = { 0 };
	member_reject_unknown(object, names, ARRAY_SIZE(names), wrong);
	read_tag_name(object, &read, wrong);
	read_color(object, &read, wrong);
	if (wrong->count > 0)
		return ERR_INVALID;
	*out = read;
	return OK;
}
