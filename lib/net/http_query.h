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

#endif
