#include "services/links-api/http/member.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/timestamp.h"
#include "lib/base/utf8.h"

#define ESCAPED_BYTES_MAX 4

void member_pointer(const char *name, char out[static HTTP_PROBLEM_POINTER_SIZE])
{
	size_t len = strlen(name);
	size_t at = 0;
	out[at++] = '/';
	for (size_t i = 0; i < len && at + ESCAPED_BYTES_MAX < HTTP_PROBLEM_POINTER_SIZE;) {
		size_t step = utf8_next(name + i, len - i);
		if (step == 0)
			break;
		if (name[i] == '~' || name[i] == '/') {
			out[at++] = '~';
			out[at++] = name[i] == '~' ? '0' : '1';
		} else {
			memcpy(out + at, name + i, step);
			at += step;
		}
		i += step;
	}
	out[at] = '\0';
}

void member_point(char out[static HTTP_PROBLEM_POINTER_SIZE], const char *parent,
                  const char *format, ...)
{
	va_list args;
	int len = snprintf(out, HTTP_PROBLEM_POINTER_SIZE, "%s", parent);
	va_start(args, format);
	if (len < HTTP_PROBLEM_POINTER_SIZE)
		vsnprintf(out + len, (size_t)(HTTP_PROBLEM_POINTER_SIZE - len), format, args);
	va_end(args);
}

const struct json *member_or_null(const struct json *object, const char *name)
{
	const struct json *value = json_get(object, name);
	return value && json_type(value) != JSON_NULL ? value : NULL;
}

static bool is_among(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

void member_reject_unknown(const struct json *object, const char *const *names, size_t count,
                           struct http_problem_fields *wrong)
{
	member_reject_unknown_at(object, "", names, count, wrong);
}

void member_reject_unknown_at(const struct json *object, const char *parent,
                              const char *const *names, size_t count,
                              struct http_problem_fields *wrong)
{
	const char *name;
	struct json *value;
	for (size_t at = 0; (at = json_next(object, at, &name, &value));) {
		if (is_among(name, names, count))
			continue;
		char escaped[HTTP_PROBLEM_POINTER_SIZE];
		char pointer[2 * HTTP_PROBLEM_POINTER_SIZE];
		member_pointer(name, escaped);
		snprintf(pointer, sizeof(pointer), "%s%s", parent, escaped);
		http_problem_add_field(wrong, pointer, "unknown", "unknown field");
	}
}

const char *member_text(const struct json *value, const char *pointer,
                        struct http_problem_fields *wrong)
{
	if (json_type(value) == JSON_TEXT)
		return json_text(value, NULL);
	http_problem_add_field(wrong, pointer, "type", "must be a string");
	return NULL;
}

const char *member_text_of(const struct json *object, const char *name, bool required,
                           struct http_problem_fields *wrong)
{
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	member_pointer(name, pointer);
	const struct json *value = json_get(object, name);
	if (value)
		return member_text(value, pointer, wrong);
	if (required)
		http_problem_add_field(wrong, pointer, "required", "is required");
	return NULL;
}

void member_future_time_of(const struct json *object, const char *name, int64_t now_us,
                           int64_t *time_us, struct http_problem_fields *wrong)
{
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	member_pointer(name, pointer);
	const struct json *value = json_get(object, name);
	const char *text = NULL;
	if (value && json_type(value) != JSON_NULL)
		text = member_text(value, pointer, wrong);
	if (!text)
		return;
	if (timestamp_parse(text, time_us) != OK)
		http_problem_add_field(
			wrong, pointer, "time",
			"must be an RFC 3339 timestamp like 2026-11-20T08:00:00.123Z");
	else if (*time_us <= now_us)
		http_problem_add_field(wrong, pointer, "past", "must be in the future");
}

/* allowed: control characters that are. */
static bool is_without_control(const char *text, const char *allowed, const char *pointer,
                               struct http_problem_fields *wrong)
{
	size_t len = strlen(text);
	for (size_t i = 0; i < len; i += utf8_next(text + i, len - i)) {
		if (utf8_is_control(text + i) && !strchr(allowed, text[i])) {
			http_problem_add_field(wrong, pointer, "control-character",
			                       "contains a control character");
			return false;
		}
	}
	return true;
}

static bool has_length(const char *text, size_t min, size_t max, const char *pointer,
                       struct http_problem_fields *wrong)
{
	size_t chars = utf8_length(text, strlen(text));
	if (chars >= min && chars <= max)
		return true;
	if (min == 0)
		http_problem_add_field(wrong, pointer, "too-long",
		                       "must have at most %zu characters", max);
	else
		http_problem_add_field(wrong, pointer, "length", "must have %zu to %zu characters",
		                       min, max);
	return false;
}

bool member_is_line(const char *text, size_t min, size_t max, const char *pointer,
                    struct http_problem_fields *wrong)
{
	return is_without_control(text, "", pointer, wrong) &&
	       has_length(text, min, max, pointer, wrong);
}

bool member_is_text(const char *text, size_t max, const char *pointer,
                    struct http_problem_fields *wrong)
{
	return is_without_control(text, "\t\n\r", pointer, wrong) &&
	       has_length(text, 0, max, pointer, wrong);
}

bool member_tag(const char *text, const char *pointer, char out[static LINK_TAG_SIZE],
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

static void read_tag(const struct json *value, const char *list, size_t index,
                     struct link_tags *tags, struct http_problem_fields *wrong)
{
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	snprintf(pointer, sizeof(pointer), "%s/%zu", list, index);
	const char *text = member_text(value, pointer, wrong);
	char tag[LINK_TAG_SIZE];
	if (!text || !member_tag(text, pointer, tag, wrong))
		return;
	if (link_tags_find(tags, tag) < tags->count)
		http_problem_add_field(wrong, pointer, "duplicate", "is given twice");
	else
		snprintf(tags->tag[tags->count++], LINK_TAG_SIZE, "%s", tag);
}

void member_tags(const struct json *value, const char *pointer, struct link_tags *out,
                 struct http_problem_fields *wrong)
{
	out->count = 0;
	if (json_type(value) == JSON_NULL)
		return;
	bool is_array = json_type(value) == JSON_ARRAY;
	if (!is_array || json_count(value) > LINK_TAGS_MAX) {
		http_problem_add_field(wrong, pointer, is_array ? "too-many" : "type",
		                       "must be an array of at most %d strings", LINK_TAGS_MAX);
		return;
	}
	for (size_t i = 0; i < json_count(value); i++)
		read_tag(json_at(value, i), pointer, i, out, wrong);
}
