/*
 * Pure. The campaign parameters of a click, from the query string of the short link: utm_source, utm_medium,
 * utm_campaign.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_UTM_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_UTM_H

#include <stddef.h>

/*
 * The decoded value of name, cut at a character to fit into size, control characters as "?". "" when it is not there or
 * not readable (a broken escape, NUL, invalid UTF-8).
 */
void utm_value(const char *query, const char *name, char *out, size_t size);

#endif
