#include "lib/json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Renames those names of jansson's header that collide with ours. */
#define json_type jansson_type
#define JSON_NULL JANSSON_NULL
#define JSON_REAL JANSSON_REAL
#define JSON_ARRAY JANSSON_ARRAY
#define JSON_OBJECT JANSSON_OBJECT
#include <jansson.h>
#undef json_type
#undef JSON_NULL
#undef JSON_REAL
#undef JSON_ARRAY
#undef JSON_OBJECT

#include "lib/base/mem.h"
#include "lib/base/timestamp.h"
#include "lib/base/utf8.h"

static json_t *node(const struct json *value)
{
	return (json_t *)(uintptr_t)value;
}

/* jansson returns NULL when out of memory. The project aborts then. */
static struct json *check_allocated(json_t *value)
{
	if (value == NULL)
		abort();
	return (struct json *)value;
}

static void check_result(int result)
{
	if (result != 0)
		abort();
}

struct shape {
	/* The deepest nesting; jansson's own limit is 2,048 levels. */
	size_t depth;
	/* An upper bound: one begins the text or follows a bracket or a comma. */
	size_t values;
};

/* Counts before anything is built: an empty object of 3 bytes takes more than 200 of memory. */
static struct shape shape_of(const char *text, size_t len)
{
	struct shape shape = { .values = 1 };
	size_t depth = 0;
	bool in_string = false;
	for (size_t i = 0; i < len; i++) {
		char c = text[i];
		if (in_string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
		} else if (c == '"') {
			in_string = true;
		} else if (c == '[' || c == '{') {
			shape.values++;
			if (++depth > shape.depth)
				shape.depth = depth;
		} else if ((c == ']' || c == '}') && depth > 0) {
			depth--;
		} else if (c == ',') {
			shape.values++;
		}
	}
	return shape;
}

/* NULL: jansson's own words serve a reader who does not know it. */
static const char *own_words(const json_error_t *error)
{
	switch (json_error_code(error)) {
	case json_error_null_character:
		return "a text contains the character U+0000";
	case json_error_null_byte_in_key:
		return "the name of a member contains the character U+0000";
	case json_error_invalid_utf8:
		return "a byte is not valid UTF-8";
	case json_error_premature_end_of_input:
		return "the text ends too early";
	case json_error_end_of_input_expected:
		return "the text goes on after the value";
	case json_error_numeric_overflow:
		return "a number is too large";
	default:
		return NULL;
	}
}

/* jansson quotes the input after " near ". A reason must not repeat untrusted input. */
static void explain(const json_error_t *error, char reason[static JSON_REASON_SIZE])
{
	const char *text = own_words(error);
	if (text == NULL)
		text = error->text;
	const char *near = strstr(text, " near ");
	int len = near != NULL ? (int)(near - text) : (int)strlen(text);
	snprintf(reason, JSON_REASON_SIZE, "line %d column %d: %.*s",
	         error->line > 0 ? error->line : 1, error->column > 0 ? error->column : 0, len,
	         text);
}

enum err json_parse(const char *text, size_t len, struct json **out,
                    char reason[static JSON_REASON_SIZE])
{
	struct shape shape = shape_of(text, len);
	if (shape.depth > JSON_DEPTH_MAX) {
		snprintf(reason, JSON_REASON_SIZE, "nested deeper than %d levels", JSON_DEPTH_MAX);
		return ERR_INVALID;
	}
	/* jansson skips a NUL after a number or a literal. */
	if (memchr(text, '\0', len) != NULL) {
		snprintf(reason, JSON_REASON_SIZE, "a NUL byte is not allowed");
		return ERR_INVALID;
	}
	if (shape.values > JSON_VALUES_MAX) {
		snprintf(reason, JSON_REASON_SIZE, "more than %d values", JSON_VALUES_MAX);
		return ERR_INVALID;
	}
	json_error_t error = { 0 };
	json_t *value = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	if (value == NULL) {
		explain(&error, reason);
		return ERR_INVALID;
	}
	*out = (struct json *)value;
	return OK;
}

void json_free(struct json *value)
{
	json_decref(node(value));
}

struct json *json_share(struct json *value)
{
	json_incref((json_t *)value);
	return value;
}

/* jansson reads 1.0 and 1e3 as double, which represents every integer up to 2^53. */
#define WHOLE_MAX 9007199254740992.0

static bool is_whole(double number)
{
	return number >= -WHOLE_MAX && number <= WHOLE_MAX && number == (double)(int64_t)number;
}

enum json_type json_type(const struct json *value)
{
	switch (node(value)->type) {
	case JANSSON_OBJECT:
		return JSON_OBJECT;
	case JANSSON_ARRAY:
		return JSON_ARRAY;
	case JSON_STRING:
		return JSON_TEXT;
	case JSON_INTEGER:
		return JSON_INT;
	case JANSSON_REAL:
		return is_whole(json_real_value(node(value))) ? JSON_INT : JSON_REAL;
	case JSON_TRUE:
	case JSON_FALSE:
		return JSON_BOOL;
	case JANSSON_NULL:
		break;
	}
	return JSON_NULL;
}

struct json *json_get(const struct json *object, const char *name)
{
	return (struct json *)json_object_get(node(object), name);
}

size_t json_count(const struct json *array_or_object)
{
	json_t *value = node(array_or_object);
	return value->type == JANSSON_OBJECT ? json_object_size(value) : json_array_size(value);
}

struct json *json_at(const struct json *array, size_t index)
{
	return (struct json *)json_array_get(node(array), index);
}

const char *json_text(const struct json *value, size_t *len)
{
	if (len != NULL)
		*len = json_string_length(node(value));
	return json_string_value(node(value));
}

int64_t json_int(const struct json *value)
{
	if (node(value)->type == JANSSON_REAL)
		return (int64_t)json_real_value(node(value));
	return json_integer_value(node(value));
}

bool json_bool(const struct json *value)
{
	return node(value)->type == JSON_TRUE;
}

size_t json_next(const struct json *object, size_t cursor, const char **name, struct json **value)
{
	json_t *o = node(object);
	void *at = cursor == 0 ? json_object_iter(o)
	                       : json_object_iter_next(o, (void *)(uintptr_t)cursor);
	if (at == NULL)
		return 0;
	*name = json_object_iter_key(at);
	*value = (struct json *)json_object_iter_value(at);
	return (size_t)(uintptr_t)at;
}

struct json *json_new_object(void)
{
	return check_allocated(json_object());
}

struct json *json_new_array(void)
{
	return check_allocated(json_array());
}

static struct json *new_text(const char *text)
{
	if (text == NULL)
		return check_allocated(json_null());
	size_t len = strlen(text);
	if (utf8_is_valid(text, len))
		return check_allocated(json_stringn_nocheck(text, len));
	char *clean = mem_zero(len + 1);
	size_t kept = utf8_copy_clean(text, len, clean, len + 1);
	struct json *value = check_allocated(json_stringn_nocheck(clean, kept));
	free(clean);
	return value;
}

void json_set(struct json *object, const char *name, struct json *value)
{
	check_result(json_object_set_new_nocheck(node(object), name, node(value)));
}

void json_set_text(struct json *object, const char *name, const char *text)
{
	json_set(object, name, new_text(text));
}

void json_set_int(struct json *object, const char *name, int64_t value)
{
	json_set(object, name, check_allocated(json_integer(value)));
}

void json_set_real(struct json *object, const char *name, double value)
{
	json_set(object, name, check_allocated(isfinite(value) ? json_real(value) : json_null()));
}

void json_set_bool(struct json *object, const char *name, bool value)
{
	json_set(object, name, check_allocated(value ? json_true() : json_false()));
}

void json_set_null(struct json *object, const char *name)
{
	json_set(object, name, check_allocated(json_null()));
}

void json_set_time(struct json *object, const char *name, int64_t time_us)
{
	if (time_us == 0) {
		json_set_null(object, name);
		return;
	}
	char text[TIMESTAMP_TEXT_SIZE];
	timestamp_format_ms(time_us, text);
	json_set_text(object, name, text);
}

void json_append(struct json *array, struct json *value)
{
	check_result(json_array_append_new(node(array), node(value)));
}

void json_append_text(struct json *array, const char *text)
{
	json_append(array, new_text(text));
}

void json_append_int(struct json *array, int64_t value)
{
	json_append(array, check_allocated(json_integer(value)));
}

static int write_part(const char *bytes, size_t len, void *out)
{
	strbuf_add(out, bytes, len);
	return 0;
}

#define COMPACT (JSON_COMPACT | JSON_ENCODE_ANY)

void json_write(const struct json *value, struct strbuf *out)
{
	check_result(json_dump_callback(node(value), write_part, out,
	                                COMPACT | JSON_REAL_PRECISION(15)));
}

void json_write_exact(const struct json *value, struct strbuf *out)
{
	check_result(json_dump_callback(node(value), write_part, out,
	                                COMPACT | JSON_REAL_PRECISION(17)));
}
