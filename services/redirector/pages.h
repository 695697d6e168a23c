/*
 * Safe from any thread after pages_new. What visitors see who are not redirected: small,
 * self-contained pages in their language (Accept-Language), which work in light and dark mode and
 * with screen readers. Programs get application/problem+json.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_PAGES_H
#define WAYMARK_SERVICES_REDIRECTOR_PAGES_H

#include <stdbool.h>

#include "lib/http/http_server.h"
#include "services/redirector/page_texts.h"

struct pages;

/* Everything is borrowed. */
struct pages_config {
	const struct page_texts *texts;
	/* Of short links: "https://sho.rt". */
	const char *public_base_url;
	/* Linked from the start page; "": no link. */
	const char *dashboard_url;
	/* "": not named. */
	const char *operator_name;
	/* A mail address or a URL; "": none. */
	const char *operator_contact;
};

/* Renders all pages in all languages. */
struct pages *pages_new(const struct pages_config *config);
/* Not before the server that sends them has stopped. NULL is allowed. */
void pages_free(struct pages *pages);

/*
 * Whether an Accept header (RFC 9110, 12.5.1) names text/html, and JSON with no greater weight.
 * Ranges such as any type are not looked at: every browser names text/html. NULL: no header.
 */
bool pages_prefers_html(const char *accept);

/*
 * Completes x with status, Cache-Control: no-store and X-Robots-Tag. Pages echo nothing of the
 * request. detail becomes the problem's detail.
 */
enum http_progress pages_respond_error(const struct pages *pages, struct http_exchange *x,
                                       unsigned status, const char *detail);

/* The page at "/": 200. Clients that do not want HTML get a line of text. */
enum http_progress pages_respond_start(const struct pages *pages, struct http_exchange *x);
/* The icon of the pages, an SVG: 200. */
enum http_progress pages_respond_favicon(struct http_exchange *x);

#endif
