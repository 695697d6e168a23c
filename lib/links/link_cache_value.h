/*
 * A link as Redis stores it:
 *
 *   5 generation version id state redirect_status expires_at_us starts_at_us flags slug_len
 *     original_url_len alias_of_len extras_len slug original_url alias_of expired_url extras
 *
 * Words are separated by one space. There is one before the slug and none between the texts. extras
 * are bytes. "5" is the version of this format. Pure. Only link_cache.c includes it.
 */
#ifndef WAYMARK_LIB_LINKS_LINK_CACHE_VALUE_H
#define WAYMARK_LIB_LINKS_LINK_CACHE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/links/link.h"

#define LINK_CACHE_VALUE_NUMBERS 12
#define LINK_CACHE_VALUE_NUMBER_TEXT 20
#define LINK_CACHE_VALUE_MAX                                                                       \
	(2 + (size_t)LINK_CACHE_VALUE_NUMBERS * (LINK_CACHE_VALUE_NUMBER_TEXT + 1) +               \
	 2 * (size_t)SLUG_LENGTH_MAX + 2 * (size_t)LINK_URL_MAX + LINK_EXTRAS_BYTES_MAX)

void link_cache_value_encode(const struct link_entry *entry, int64_t generation,
                             struct strbuf *out);

/* Sets only what the entry uses. False: in another form; *out is undefined then. */
bool link_cache_value_decode(const char *value, size_t len, int64_t *generation,
                             struct link_entry *out) MUST_CHECK;

#endif
