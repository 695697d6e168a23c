/*
 * One thread at a time. Strict JSON (RFC 8259) on jansson. It rejects duplicate keys, trailing
 * bytes, NaN, invalid UTF-8, NUL in strings, nesting deeper than JSON_DEPTH_MAX, and more than
 * JSON_VALUES_MAX values, which bounds the memory of a document. Readers borrow
 * from the document. A parent owns the nodes that are added to it, so one json_free of the root
 * frees everything.
 */
#ifndef WAYMARK_LIB_JSON_JSON_H
#define WAYMARK_LIB_JSON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"

#define JSON_DEPTH_MAX 32
/* A bulk of 1,000 links, each with all members and 20 tags, has 29,002. */
#define JSON_VALUES_MAX 32768
/* The most memory that a parsed document takes, in addition to three times its text. */
#define JSON_TREE_BYTES_MAX (JSON_VALUES_MAX * 256)
#define JSON_REASON_SIZE 160

struct json; /* any JSON value; opaque */

/* JSON_INT: no fraction, also 920.0 and 1e3 (up to 2^53), as in JSON Schema. JSON_REAL: others. */
enum json_type { JSON_NULL, JSON_BOOL, JSON_INT, JSON_REAL, JSON_TEXT, JSON_ARRAY, JSON_OBJECT };

/* ERR_INVALID: reason names the place and the error ("line 1 column 7: duplicate object key"). */
enum err json_parse(const char *text, size_t len, struct json **out,
                    char reason[static JSON_REASON_SIZE]) MUST_CHECK;
void json_free(struct json *value);
/* Adds an owner to value. Each owner frees it or passes it to a parent. */
struct json *json_share(struct json *value);

/* Reading. Getters need a value of their type. json_get: NULL if the member is absent. */
enum json_type json_type(const struct json *value);
struct json *json_get(const struct json *object, const char *name);
size_t json_count(const struct json *array_or_object);
struct json *json_at(const struct json *array, size_t index);
const char *json_text(const struct json *value, size_t *len); /* len may be NULL */
int64_t json_int(const struct json *value);
bool json_bool(const struct json *value);
/* Iterates over members: pass 0 first, then the last result; 0 ends. name and value: borrowed. */
size_t json_next(const struct json *object, size_t cursor, const char **name, struct json **value);

/* Building. Texts are copied. Invalid UTF-8 is replaced. */
struct json *json_new_object(void);
struct json *json_new_array(void);
void json_set(struct json *object, const char *name, struct json *value);
void json_set_text(struct json *object, const char *name, const char *text); /* NULL: null */
void json_set_int(struct json *object, const char *name, int64_t value);
void json_set_real(struct json *object, const char *name, double value);
void json_set_bool(struct json *object, const char *name, bool value);
void json_set_null(struct json *object, const char *name);
/* RFC 3339 with milliseconds; 0: null. */
void json_set_time(struct json *object, const char *name, int64_t time_us);
void json_append(struct json *array, struct json *value);
void json_append_text(struct json *array, const char *text);
void json_append_int(struct json *array, int64_t value);

/* Compact, members in the order they were set. Reals are rounded to 15 digits. */
void json_write(const struct json *value, struct strbuf *out);
/* As json_write, without rounding: for what was parsed and is parsed again. */
void json_write_exact(const struct json *value, struct strbuf *out);

#endif
