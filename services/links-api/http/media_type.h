/* Content negotiation (Accept, RFC 9110 section 12.5.1). Pure. */
#ifndef WAYMARK_SERVICES_LINKS_API_HTTP_MEDIA_TYPE_H
#define WAYMARK_SERVICES_LINKS_API_HTTP_MEDIA_TYPE_H

#include <stddef.h>

#include "lib/base/err.h"

/*
 * Writes the index of the offered type ("text/csv") that accept prefers; ties go to the first one.
 * Parameters other than q are ignored. If accept is NULL or empty, picks the first. ERR_NOT_FOUND:
 * accept excludes every offered type.
 */
enum err media_type_choose(const char *accept, const char *const *offered, size_t count,
                           size_t *chosen) MUST_CHECK;

#endif
