/*
 * Pure. Looks for words in a header. words ends with NULL.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_WORDS_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_WORDS_H

#include <stdbool.h>

/* True if text contains one of the words. */
bool words_any(const char *text, const char *const *words);

/* True if text begins with one of the words. */
bool words_begin(const char *text, const char *const *words);

#endif
