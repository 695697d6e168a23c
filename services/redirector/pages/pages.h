/*
 * Safe from any thread after pages_new. What visitors see who are not redirected: small,
 * self-contained pages in their language (Accept-Language), which work in light and dark mode and
 * with screen readers. Programs get application/problem+json.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_PAGES_H
#define WAYMARK_SERVICES_REDIRECTOR_PAGES_H

#include <stdbool.h>

#include "lib/http/http_server.h"
#include "services/redirector/pages/page.h"

struct pages;

/* Renders all pages in all languages. Everything in site is borrowed. */
struct pages *pages_new(const struct page_site *site);
/* Not before the server that sends them has stopped. NULL is allowed. */
void pages_free(struct pages *pages);

/* For pages with content of their own. */
const struct page_site *pages_site(const struct pages *pages);

/*
 * Whether an Accept header (RFC 9110, 12.5.1) names text/html, and JSON with no greater weight.
 * Ranges such as any type are not looked at: every browser names text/html. NULL: no header.
 */
bool pages_prefers_html(const char *accept);

/*
 * Completes x with status, Cache-Control: no-store and X-Robots-Tag. Of the
 * request, pages echo the slug alone, in the address of the form for reports. detail becomes the problem's detail.
 */
enum http_progress pages_respond_error(const struct pages *pages, struct http_exchange *x,
                                       unsigned status, const char *detail);

/*
 * The same with the page of a reason, which has a status of its own: "used_up" and "ended" are 410,
 * "blocked" is 451.
 */
enum http_progress pages_respond_reason(const struct pages *pages, struct http_exchange *x,
                                        const char *name, const char *detail);

/* The page at "/": 200. Clients that do not want HTML get a line of text. */
enum http_progress pages_respond_start(const struct pages *pages, struct http_exchange *x);
/* The icon of the pages, an SVG: 200. */
enum http_progress pages_respond_favicon(struct http_exchange *x);

#endif
