/*
 * Pure. Members of the JSON objects that callers send: what is wrong about each is added to the list of wrong fields,
 * so that one answer names all of them.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_MEMBER_H
#define WAYMARK_SERVICES_LINKS_API_MEMBER_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/net/http_problem.h"
#include "lib/net/json.h"

/* "/" and the name, escaped (RFC 6901), cut where it would not fit. */
void member_pointer(const char *name, char out[static HTTP_PROBLEM_POINTER_SIZE]);

/* Each member of object that is not among the names is wrong. */
void member_refuse_unknown(const struct json *object, const char *const *names, size_t count,
                           struct http_problem_fields *wrong);

/* The text of a value, or NULL after saying that it is none; pointer says where it stands. */
const char *member_text(const struct json *value, const char *pointer, struct http_problem_fields *wrong);

/* The text of object's member; NULL if it is missing (wrong only if required) or none. */
const char *member_text_of(const struct json *object, const char *name, bool required,
                           struct http_problem_fields *wrong);

/* Whether text has min to max characters, none of them a control character; says what is wrong if not. */
bool member_is_line(const char *text, size_t min, size_t max, const char *pointer, struct http_problem_fields *wrong);

#endif
