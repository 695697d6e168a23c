/*
 * Decides if a request with a session comes from our own pages (protection against cross-site
 * request forgery). Browsers name the sender in Sec-Fetch-Site, which scripts cannot set. Browsers
 * that do not, and all browsers on plain HTTP, name it in Origin. Pure.
 *
 *   Sec-Fetch-Site          GET, HEAD    writes
 *   same-origin             yes          yes
 *   none (typed address)    yes          no
 *   anything else           no           no
 *   absent                  if Origin is absent or is our own    if Origin is our own
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_SAME_ORIGIN_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_SAME_ORIGIN_H

#include <stdbool.h>

struct same_origin_headers {
	/* NULL = absent, as below. */
	const char *fetch_site;
	const char *origin;
	const char *host;
};

/* needs_https: our own Origin begins with "https://". */
bool same_origin_permits(const struct same_origin_headers *headers, bool is_read, bool needs_https);

#endif
