/*
 * Validates the members of a JSON request body. Each problem is added to a list of invalid fields,
 * so that one response names all of them. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_HTTP_MEMBER_H
#define WAYMARK_SERVICES_LINKS_API_HTTP_MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/http/http_problem.h"
#include "lib/json/json.h"
#include "lib/links/link.h"

/* Writes "/" and the escaped name (JSON Pointer, RFC 6901). Truncates a name that does not fit. */
void member_pointer(const char *name, char out[static HTTP_PROBLEM_POINTER_SIZE]);

/* Writes the pointer of what is below parent: member_point(out, "/rules/3", "/when/%s", name). */
void member_point(char out[static HTTP_PROBLEM_POINTER_SIZE], const char *parent,
                  const char *format, ...) __attribute__((format(printf, 3, 4)));

/* NULL: object has no member of that name, or it is null. */
const struct json *member_or_null(const struct json *object, const char *name);

/* Reports every member of object whose name is not in names. */
void member_reject_unknown(const struct json *object, const char *const *names, size_t count,
                           struct http_problem_fields *wrong);
/* The same for an object inside the body; parent: its pointer. */
void member_reject_unknown_at(const struct json *object, const char *parent,
                              const char *const *names, size_t count,
                              struct http_problem_fields *wrong);

/* The string, borrowed from value. NULL: it is no string, which is reported at pointer. */
const char *member_text(const struct json *value, const char *pointer,
                        struct http_problem_fields *wrong);

/*
 * Returns the string member of object, or NULL. Reports a missing member only if it is required,
 * and a member that is not a string always.
 */
const char *member_text_of(const struct json *object, const char *name, bool required,
                           struct http_problem_fields *wrong);

/*
 * Reads an optional RFC 3339 time after now_us. Leaves *time_us unchanged if the member is missing or
 * null.
 */
void member_future_time_of(const struct json *object, const char *name, int64_t now_us,
                           int64_t *time_us, struct http_problem_fields *wrong);

/* True if text has min to max characters and no control character; otherwise reports it. */
bool member_is_line(const char *text, size_t min, size_t max, const char *pointer,
                    struct http_problem_fields *wrong);
/* As member_is_line with at most max characters; line breaks and tabs are allowed. */
bool member_is_text(const char *text, size_t max, const char *pointer,
                    struct http_problem_fields *wrong);

/*
 * Copies text to out if a tag may have that name: 1 to 50 characters without control characters,
 * and neither "." nor "..", which clients remove from paths. Otherwise reports it at pointer.
 */
bool member_tag(const char *text, const char *pointer, char out[static LINK_TAG_SIZE],
                struct http_problem_fields *wrong);

/* Reads an array of at most LINK_TAGS_MAX different tags; null is none. */
void member_tags(const struct json *value, const char *pointer, struct link_tags *out,
                 struct http_problem_fields *wrong);

#endif
