/*
 * Pure. What an API key may do: "links:read", "links:write", "stats:read". A login may do all of it, and more.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCESS_SCOPE_H
#define WAYMARK_SERVICES_LINKS_API_ACCESS_SCOPE_H

#include "lib/base/err.h"

/* Bits of a set. */
#define SCOPE_LINKS_READ 1U
#define SCOPE_LINKS_WRITE 2U
#define SCOPE_STATS_READ 4U
#define SCOPE_ALL (SCOPE_LINKS_READ | SCOPE_LINKS_WRITE | SCOPE_STATS_READ)
#define SCOPE_COUNT 3
#define SCOPE_LIST_SIZE 48 /* of all names, separated by commas */

/* The names, in their order; the bit of name i is 1U << i. */
extern const char *const scope_names[SCOPE_COUNT];

/* ERR_INVALID: no such scope. */
enum err scope_parse(const char *name, unsigned *scope) MUST_CHECK;

/* "links:read,stats:read", and back: names that are none are passed over. */
void scope_join(unsigned scopes, char out[static SCOPE_LIST_SIZE]);
unsigned scope_split(const char *list);

#endif
