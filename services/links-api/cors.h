/*
 * Safe from any thread after cors_init. Which web pages may read our answers (Fetch Standard, CORS): those whose origin
 * is in the list, to the letter. Tokens travel in headers, never in cookies, so no answer allows credentials.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_CORS_H
#define WAYMARK_SERVICES_LINKS_API_CORS_H

#include <stdbool.h>

#include "lib/base/err.h"
#include "lib/net/http_server.h"

struct cors {
	const char *origins; /* "https://a.example, http://localhost:3000"; "" = none */
};

/*
 * Borrows origins: separated by commas or spaces, each as browsers write it: http or https, "://", a host in lower case,
 * a port only if it is not the scheme's own. ERR_INVALID: one is something else, "*" and "null" among them.
 */
enum err cors_init(struct cors *cors, const char *origins) MUST_CHECK;

bool cors_allows(const struct cors *cors, const char *origin);

/* What any answer needs, so that the page behind the request's Origin may read it; Vary as soon as there are origins. */
void cors_add_headers(const struct cors *cors, struct http_exchange *x);

/* What the answer to a preflight needs beside them; methods as in Allow. Nothing, if the request is none. */
void cors_add_preflight_headers(const struct cors *cors, struct http_exchange *x, const char *methods);

#endif
