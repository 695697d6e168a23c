/*
 * Pure. A position in a list of links as opaque text. Clients send it back to get the next page.
 *
 * A cursor holds the sort key and id of the last link, and a checksum over them and the query. It
 * is therefore invalid with another order, filter or owner. It is not signed: a forged cursor only
 * returns links that the same client could get with a filter.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_LINK_CURSOR_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_LINK_CURSOR_H

#include <stdint.h>

#include "lib/base/err.h"

#define LINK_CURSOR_SIZE 49

struct link_cursor {
	/* The value of the sort column: a time in µs, or a count. */
	int64_t key;
	int64_t id;
};

/* query_key: text of every parameter that selects or orders links. */
void link_cursor_format(const struct link_cursor *cursor, const char *query_key,
                        char out[static LINK_CURSOR_SIZE]);

/* ERR_INVALID: text does not come from link_cursor_format with this query_key. */
enum err link_cursor_parse(const char *text, const char *query_key,
                           struct link_cursor *out) MUST_CHECK;

#endif
