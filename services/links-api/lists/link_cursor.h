/*
 * Pure. A place in a list of links as text that clients hand back, and that they need not understand. A cursor holds
 * where the last link stood, and a check over that and over the question: with another order, filter or owner it is
 * none. It is no secret: whoever makes up one gets what a filter would give him.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_LINK_CURSOR_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_LINK_CURSOR_H

#include <stdint.h>

#include "lib/base/err.h"

#define LINK_CURSOR_SIZE 49

struct link_cursor {
	int64_t key; /* of the order: a time in µs, or a count */
	int64_t id;
};

/* question: everything that decides which links there are and in which order, as text. */
void link_cursor_format(const struct link_cursor *cursor, const char *question, char out[static LINK_CURSOR_SIZE]);

/* ERR_INVALID: not what link_cursor_format writes for this question. */
enum err link_cursor_parse(const char *text, const char *question, struct link_cursor *out) MUST_CHECK;

#endif
