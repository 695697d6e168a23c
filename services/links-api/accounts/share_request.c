#include "services/links-api/accounts/share_request.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/base64.h"
#include "lib/base/timestamp.h"
#include "lib/http/http_logo.h"
#include "services/links-api/accounts/credentials.h"
#include "services/links-api/http/member.h"

#define DAY_CHARS 10

static void read_tag(const struct json *value, struct share *out, struct http_problem_fields *wrong)
{
	const char *tag = member_text(value, "/tag", wrong);
	if (tag && member_is_line(tag, 1, LINK_TAG_CHARS_MAX, "/tag", wrong))
		snprintf(out->tag, sizeof(out->tag), "%s", tag);
}

static void read_subject(const struct json *object, struct share *out,
                         struct http_problem_fields *wrong)
{
	const struct json *link = member_or_null(object, "link_id");
	const struct json *tag = member_or_null(object, "tag");
	if (!link == !tag)
		http_problem_add_field(wrong, "/link_id", link ? "exclusive" : "required",
		                       "exactly one of link_id and tag is required");
	else if (tag)
		read_tag(tag, out, wrong);
	else if (json_type(link) == JSON_INT && json_int(link) > 0)
		out->link_id = json_int(link);
	else
		http_problem_add_field(wrong, "/link_id", "id", "must be the id of a link");
}

/* Two days, the first not after the last one: "2026-03-01/2026-03-31". */
static bool is_span(const char *text)
{
	char first[DAY_CHARS + sizeof("T00:00:00Z")], last[sizeof(first)];
	int64_t first_us, last_us;
	if (strlen(text) != SHARE_RANGE_SIZE - 1 || text[DAY_CHARS] != '/')
		return false;
	snprintf(first, sizeof(first), "%.10sT00:00:00Z", text);
	snprintf(last, sizeof(last), "%.10sT00:00:00Z", text + DAY_CHARS + 1);
	return timestamp_parse(first, &first_us) == OK && timestamp_parse(last, &last_us) == OK &&
	       first_us <= last_us;
}

static bool is_range(const char *text)
{
	/* Those of the dashboard (src/lib/range.ts). */
	static const char *const presets[] = { "today", "yesterday", "week",  "7d",
		                               "30d",   "90d",       "month", "year" };
	for (size_t i = 0; i < ARRAY_SIZE(presets); i++)
		if (strcmp(text, presets[i]) == 0)
			return true;
	return is_span(text);
}

static void read_title(const struct json *object, struct share_request *out,
                       struct http_problem_fields *wrong)
{
	const char *title = member_text_of(object, "title", false, wrong);
	out->has_title = title != NULL;
	if (title && member_is_line(title, 0, SHARE_TITLE_CHARS_MAX, "/title", wrong))
		snprintf(out->share.title, sizeof(out->share.title), "%s", title);
}

static void read_text(const struct json *object, struct share_request *out,
                      struct http_problem_fields *wrong)
{
	const char *text = member_text_of(object, "text", false, wrong);
	out->has_text = text != NULL;
	if (text && member_is_text(text, SHARE_TEXT_CHARS_MAX, "/text", wrong))
		snprintf(out->share.text, sizeof(out->share.text), "%s", text);
}

static void read_range(const struct json *object, struct share_request *out,
                       struct http_problem_fields *wrong)
{
	const struct json *value = member_or_null(object, "range");
	const char *range = value ? member_text(value, "/range", wrong) : NULL;
	out->has_range = json_get(object, "range") != NULL;
	if (range && !is_range(range))
		http_problem_add_field(
			wrong, "/range", "malformed",
			"must be today, yesterday, 7d, 30d, 90d, month, year, or the first and the last "
			"day, like 2026-03-01/2026-03-31");
	else if (range)
		snprintf(out->share.range, sizeof(out->share.range), "%s", range);
}

static void read_logo(const struct json *object, struct share_request *out,
                      struct http_problem_fields *wrong)
{
	struct share_logo *logo = &out->logo;
	const struct json *value = member_or_null(object, "logo");
	const char *text = value ? member_text(value, "/logo", wrong) : NULL;
	out->has_logo = json_get(object, "logo") != NULL;
	if (!text)
		return;
	enum err err = base64_decode(text, logo->bytes, sizeof(logo->bytes), &logo->len);
	if (err == ERR_LIMIT)
		http_problem_add_field(wrong, "/logo", "too-many-bytes",
		                       "must have at most %d bytes", SHARE_LOGO_BYTES_MAX);
	else if (err != OK || !http_logo_bitmap_type(logo->bytes, logo->len))
		http_problem_add_field(wrong, "/logo", "malformed",
		                       "must be a PNG, JPEG or WebP picture, in base64");
}

enum err share_request_read(const struct json *object, bool is_change, int64_t now_us,
                            struct share_request *out, struct http_problem_fields *wrong)
{
	static const char *const names[] = { "title",    "text",       "range",   "logo",
		                             "password", "expires_at", "link_id", "tag" };
	member_reject_unknown(object, names, ARRAY_SIZE(names) - (is_change ? 2 : 0), wrong);
	if (!is_change)
		read_subject(object, &out->share, wrong);
	read_title(object, out, wrong);
	read_text(object, out, wrong);
	read_range(object, out, wrong);
	read_logo(object, out, wrong);
	out->has_expires_at = json_get(object, "expires_at") != NULL;
	member_future_time_of(object, "expires_at", now_us, &out->share.expires_at_us, wrong);
	out->has_password = json_get(object, "password") != NULL;
	if (member_or_null(object, "password"))
		credentials_read_new_password(object, "password", out->password, wrong);
	return wrong->count == 0 ? OK : ERR_INVALID;
}

void share_request_apply(const struct share_request *request, struct share *share)
{
	const struct share *from = &request->share;
	if (request->has_title)
		memcpy(share->title, from->title, sizeof(share->title));
	if (request->has_text)
		memcpy(share->text, from->text, sizeof(share->text));
	if (request->has_range)
		memcpy(share->range, from->range, sizeof(share->range));
	if (request->has_expires_at)
		share->expires_at_us = from->expires_at_us;
}
