/* Pure. Base64 with the alphabet of RFC 4648, section 4. */
#ifndef WAYMARK_LIB_BASE_BASE64_H
#define WAYMARK_LIB_BASE_BASE64_H

#include <stddef.h>

#include "lib/base/err.h"

/*
 * Decodes text to at most size bytes of out. Padding may be missing. ERR_INVALID: text has another
 * character. ERR_LIMIT: it is longer. *len is set on OK; out may hold a part after an error.
 */
enum err base64_decode(const char *text, void *out, size_t size, size_t *len) MUST_CHECK;

#endif
