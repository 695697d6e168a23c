/* Pure. The language that a visitor prefers. */
#ifndef WAYMARK_LIB_VISITORS_ACCEPT_LANGUAGE_H
#define WAYMARK_LIB_VISITORS_ACCEPT_LANGUAGE_H

#include <stddef.h>

/* Of the longest language range (RFC 5646, section 4.4.1). */
#define ACCEPT_LANGUAGE_RANGE_SIZE 36

/*
 * Writes the language range with the highest weight in Accept-Language (RFC 9110, section 12.5.4),
 * in lower case: "de-at" for "de-AT,en;q=0.9". Of equal weights the first one wins. "" when no range
 * names a language ("*", q=0, malformed). A longer one is cut. Returns the length of its primary
 * subtag, "de", which statistics count: 0 or 2 to 8.
 */
size_t accept_language_preferred(const char *accept_language,
                                 char range[static ACCEPT_LANGUAGE_RANGE_SIZE]);

#endif
