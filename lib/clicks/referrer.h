/*
 * Pure. The Referer header. An event keeps the page without what may hold a secret; statistics keep
 * the host alone.
 */
#ifndef WAYMARK_LIB_CLICKS_REFERRER_H
#define WAYMARK_LIB_CLICKS_REFERRER_H

#include <stddef.h>

/*
 * Writes scheme, host, port and path: "https://example.com/path" for
 * "https://user@example.com/path;session=1?token#f". "" when there is no host (referrer_host)
 * or it does not fit into size; a longer path is cut. The result is valid UTF-8 (utf8_copy_clean).
 */
void referrer_page(const char *referrer, char *out, size_t size);

/*
 * Writes the host without port and trailing dot, with ASCII letters in lower case:
 * "www.example.com" for "https://user@WWW.example.com:8443/path?q". An app referrer
 * ("android-app://com.example/") gives the app's name. Characters beyond ASCII stay as they are. ""
 * when there is no host, when it contains bytes that are invalid in a host or in UTF-8, when the
 * port is no number, or when it does not fit into size.
 */
void referrer_host(const char *referrer, char *out, size_t size);

#endif
