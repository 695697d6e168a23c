/* Pure. Decodes values of a raw query (application/x-www-form-urlencoded, RFC 3986 escapes). */
#ifndef WAYMARK_LIB_HTTP_HTTP_QUERY_H
#define WAYMARK_LIB_HTTP_HTTP_QUERY_H

#include <stddef.h>

#include "lib/base/err.h"

/*
 * The first value of name, percent-decoded; "+" becomes a space. ERR_NOT_FOUND: the query has no
 * such name. ERR_INVALID: a malformed escape, a NUL or invalid UTF-8. ERR_LIMIT: the value with its
 * NUL is longer than size. After an error out may hold a part of the value.
 */
enum err http_query_value(const char *query, const char *name, char *out, size_t size) MUST_CHECK;

/*
 * Iterates over all pairs in order: decodes the next non-empty pair and moves *query past it.
 * ERR_NOT_FOUND: no more pairs. Other errors are as above, for the name, which is then empty, or
 * for its value. The iteration can continue. name_size is at least 1.
 */
enum err http_query_next(const char **query, char *name, size_t name_size, char *value,
                         size_t value_size) MUST_CHECK;

#endif
