/*
 * Pure. The language that a visitor prefers, from Accept-Language (RFC 9110, section 12.5.4).
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_LANGUAGE_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_LANGUAGE_H

#include <stddef.h>

/*
 * The primary subtag, in lower case, of the range with the highest weight (the first of equals): "de" for
 * "de-AT,en;q=0.9". "" when no range names a language ("*", q=0, nonsense). size: at least 9.
 */
void language_of(const char *accept_language, char *out, size_t size);

#endif
