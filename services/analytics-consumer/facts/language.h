/* Pure. The visitor's preferred language, from Accept-Language (RFC 9110, section 12.5.4). */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_LANGUAGE_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_LANGUAGE_H

#include <stddef.h>

/*
 * Writes the primary subtag of the language range with the highest weight, in lower case: "de" for
 * "de-AT,en;q=0.9". Of equal weights the first one wins. "" when no range names a language ("*",
 * q=0, malformed). size: at least 9.
 */
void language_of(const char *accept_language, char *out, size_t size);

#endif
