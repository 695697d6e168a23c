/*
 * Pure. Which of the forms that we have a client wants (Accept; RFC 9110, 12.5.1).
 */
#ifndef WAYMARK_SERVICES_LINKS_API_MEDIA_TYPE_H
#define WAYMARK_SERVICES_LINKS_API_MEDIA_TYPE_H

#include <stddef.h>

#include "lib/base/err.h"

/*
 * The index of the type of offered ("text/csv") that accept likes best; among equals the first one offered. Parameters
 * of types mean nothing, but q. NULL or empty: the first. ERR_NOT_FOUND: none of them will do.
 */
enum err media_type_choose(const char *accept, const char *const *offered, size_t count, size_t *chosen) MUST_CHECK;

#endif
