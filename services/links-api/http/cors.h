/*
 * Decides which web pages may read our responses (CORS, Fetch Standard): those whose origin is
 * listed, compared byte for byte. Those pages send tokens in headers. No response allows
 * credentials, so sessions, which are cookies, work on our own pages only. Safe from any thread
 * after cors_init.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_HTTP_CORS_H
#define WAYMARK_SERVICES_LINKS_API_HTTP_CORS_H

#include <stdbool.h>

#include "lib/base/err.h"
#include "lib/http/http_server.h"

struct cors {
	/* "https://a.example, http://localhost:3000"; "" = none. */
	const char *origins;
};

/*
 * Borrows origins, which are separated by commas or spaces. Each is written as browsers send it:
 * http or https, "://", a lower-case host, and a port only if it is not the default of the scheme.
 * ERR_INVALID: any other form, including "*" and "null".
 */
enum err cors_init(struct cors *cors, const char *origins) MUST_CHECK;

bool cors_allows(const struct cors *cors, const char *origin);

/* Headers that let Origin's page read the response; Vary whenever any origin is configured. */
void cors_add_headers(const struct cors *cors, struct http_exchange *x);

/*
 * Adds the headers of a preflight response. methods has the syntax of Allow. Does nothing if the
 * request is not a preflight.
 */
void cors_add_preflight_headers(const struct cors *cors, struct http_exchange *x,
                                const char *methods);

#endif
