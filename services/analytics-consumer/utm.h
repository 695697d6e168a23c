/*
 * Pure. The campaign parameters in the query string of a click: utm_source, utm_medium,
 * utm_campaign.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_UTM_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_UTM_H

#include <stddef.h>

/*
 * Writes the decoded value of the parameter name. A longer value is cut at a character boundary to
 * fit into size. Control characters become "?". "" when the parameter is missing or malformed (a
 * bad escape, NUL, invalid UTF-8).
 */
void utm_value(const char *query, const char *name, char *out, size_t size);

#endif
