/*
 * Safe from any thread. What visitors get when there is nowhere to lead them: a small page that needs nothing from
 * elsewhere, readable in light and dark and by screen readers; or application/problem+json for programs.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_PAGE_H
#define WAYMARK_SERVICES_REDIRECTOR_PAGE_H

#include <stdbool.h>

#include "lib/net/http_server.h"

/*
 * Whether an Accept header (RFC 9110, 12.5.1) asks for a page rather than for JSON: the closest range that takes a type
 * in decides on its weight. At equal weights who names text/html or all of text gets the page; a program that takes
 * anything, or says nothing (NULL), gets a problem.
 */
bool page_is_wanted(const char *accept);

/*
 * Answers x, with Cache-Control: no-store and X-Robots-Tag. Pages are constants: no byte of a request comes back in
 * them. detail goes into the problem.
 */
enum http_progress page_answer(struct http_exchange *x, unsigned status, const char *detail);

/* An http_refusal. */
void page_refusal(void *ctx, struct http_exchange *x, unsigned status, const char *detail);

#endif
