#include "services/links-api/links/tag_request.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/url.h"
#include "lib/base/utf8.h"
#include "services/links-api/http/member.h"

bool tag_request_take_name(const char *text, const char *pointer, char out[static LINK_TAG_SIZE],
                           struct http_problem_fields *wrong)
{
	if (!member_is_line(text, 1, LINK_TAG_CHARS_MAX, pointer, wrong))
		return false;
	if (strcmp(text, ".") == 0 || strcmp(text, "..") == 0) {
		http_problem_add_field(wrong, pointer, "dots", "must not be . or ..");
		return false;
	}
	snprintf(out, LINK_TAG_SIZE, "%s", text);
	return true;
}

/* ERR_INVALID: a malformed escape, NUL, a slash, no UTF-8 or too long. */
static enum err decode(const char *segment, char out[static LINK_TAG_SIZE])
{
	size_t len = strlen(segment);
	size_t count = 0;
	if (strchr(segment, '/'))
		return ERR_INVALID;
	for (size_t at = 0; at < len;) {
		int c = url_decode_next(segment, len, &at);
		if (c <= 0 || count == LINK_TAG_SIZE - 1)
			return ERR_INVALID;
		out[count++] = (char)c;
	}
	out[count] = '\0';
	return utf8_is_valid(out, count) ? OK : ERR_INVALID;
}

enum err tag_request_read_path(const char *segment, char out[static LINK_TAG_SIZE])
{
	char text[LINK_TAG_SIZE];
	struct http_problem_fields unused = { 0 };
	bool is_name = decode(segment, text) == OK && tag_request_take_name(text, "", out, &unused);
	return is_name ? OK : ERR_NOT_FOUND;
}

static void read_name(const struct json *object, struct tag_request *out,
                      struct http_problem_fields *wrong)
{
	const char *name = member_text_of(object, "name", false, wrong);
	out->has_name = name && tag_request_take_name(name, "/name", out->name, wrong);
}

static bool is_color(const char *text)
{
	return text[0] == '#' && strlen(text) == TAG_COLOR_SIZE - 1 &&
	       strspn(text + 1, "0123456789abcdefABCDEF") == TAG_COLOR_SIZE - 2;
}

static void read_color(const struct json *object, struct tag_request *out,
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

enum err tag_request_read(const struct json *object, struct tag_request *out,
                          struct http_problem_fields *wrong)
{
	static const char *const names[] = { "name", "color" };
	struct tag_request read = { 0 };
	member_reject_unknown(object, names, ARRAY_SIZE(names), wrong);
	read_name(object, &read, wrong);
	read_color(object, &read, wrong);
	if (wrong->count > 0)
		return ERR_INVALID;
	*out = read;
	return OK;
}
