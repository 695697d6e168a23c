/*
 * Pure. Values out of a raw query string or path segment (application/x-www-form-urlencoded; RFC 3986 escapes).
 */
#ifndef WAYMARK_LIB_NET_HTTP_QUERY_H
#define WAYMARK_LIB_NET_HTTP_QUERY_H

#include <stddef.h>

#include "lib/base/err.h"

/*
 * The first value of name, percent-decoded, "+" read as a space. ERR_NOT_FOUND: name is not there. ERR_INVALID: a
 * broken escape, NUL or invalid UTF-8. ERR_LIMIT: the value with its NUL is longer than size. After an error out may
 * hold a part.
 */
enum err http_query_value(const char *query, const char *name, char *out, size_t size) MUST_CHECK;

/*
 * Walks all pairs in their order: moves *query past the next one that is not empty, whose name and value it decodes.
 * ERR_NOT_FOUND: there are no more. Other errors are as above, for the name or the value, and the walk can go on.
 */
enum err http_query_next(const char **query, char *name, size_t name_size, char *value, size_t value_size) MUST_CHECK;

#endif
