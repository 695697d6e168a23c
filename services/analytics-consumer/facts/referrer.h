/*
 * Pure. The host of the Referer header. Statistics never keep its path.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_REFERRER_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_REFERRER_H

#include <stddef.h>

/*
 * Writes the host without port and trailing dot, with ASCII letters in lower case:
 * "www.example.com" for "https://user@WWW.example.com:8443/path?q". An app referrer
 * ("android-app://com.example/") gives the app's name. "" when there is no host, when it contains
 * bytes that are invalid in a host, or when it does not fit into size.
 */
void referrer_host(const char *referrer, char *out, size_t size);

#endif
