/*
 * Pure. Where a visitor came from, as far as statistics keep it: the host of the Referer header, never its path.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_REFERRER_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_REFERRER_H

#include <stddef.h>

/*
 * "www.example.com" for "https://user@WWW.example.com:8443/path?q"; app referrers ("android-app://com.example/") give
 * the app's name. No port, no trailing dot, ASCII letters in lower case. "" when there is no host, one with bytes that
 * hosts do not have, or one that does not fit into size.
 */
void referrer_host(const char *referrer, char *out, size_t size);

#endif
