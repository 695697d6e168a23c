/*
 * Safe from any thread. The response to a visitor who cannot be redirected: for browsers a small,
 * self-contained page that works in light and dark mode and with screen readers; for programs
 * application/problem+json.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_ERROR_PAGE_H
#define WAYMARK_SERVICES_REDIRECTOR_ERROR_PAGE_H

#include <stdbool.h>

#include "lib/http/http_server.h"

/*
 * Whether an Accept header (RFC 9110, 12.5.1) prefers HTML to JSON. The most specific range that
 * matches a type gives its weight. At equal weights a client that names text/html or all of text
 * gets the page; one that accepts anything, or sends no header (NULL), gets the problem.
 */
bool error_page_prefers_html(const char *accept);

/*
 * Completes x with status, Cache-Control: no-store and X-Robots-Tag. Pages are constants and echo
 * nothing of the request. detail becomes the problem's detail.
 */
enum http_progress error_page_respond(struct http_exchange *x, unsigned status, const char *detail);

/* The same as the server's callback for requests that it rejects itself (http_error_response). */
void error_page_respond_for_server(void *ctx, struct http_exchange *x, unsigned status,
                                   const char *detail);

#endif
