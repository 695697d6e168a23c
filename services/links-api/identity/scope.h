/* Scopes of API keys: "links:read", "links:write", "stats:read". Tokens have all. Pure. */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_SCOPE_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_SCOPE_H

#include "lib/base/err.h"

/* Bit flags; a set is their bitwise or. */
#define SCOPE_LINKS_READ 1U
#define SCOPE_LINKS_WRITE 2U
#define SCOPE_STATS_READ 4U
#define SCOPE_ALL (SCOPE_LINKS_READ | SCOPE_LINKS_WRITE | SCOPE_STATS_READ)
#define SCOPE_COUNT 3
#define SCOPE_LIST_SIZE 48 /* fits all names, separated by commas */

/* Names in bit order: name i has the bit 1U << i. */
extern const char *const scope_names[SCOPE_COUNT];

/* ERR_INVALID: unknown name. */
enum err scope_parse(const char *name, unsigned *scope) MUST_CHECK;

/* Converts a set to "links:read,stats:read" and back; scope_split ignores unknown names. */
void scope_join(unsigned scopes, char out[static SCOPE_LIST_SIZE]);
unsigned scope_split(const char *list);

#endif
