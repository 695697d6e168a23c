/*
 * Pure. What the pages for visitors have in common: the operator at the top, a card with an icon, and
 * a footer. They are small and self-contained but for the operator's logo and the font, in light and dark
 * mode, without a script.
 *
 *   http_page_begin(&html, "en");
 *   strbuf_add_text(&html, "<title>Thank you</title>\n");
 *   http_page_begin_body(&html, &brand, HTTP_PAGE_CHECK);
 *   strbuf_add_text(&html, "<h1>Thank you</h1>\n");
 *   http_page_end_main(&html);
 *   http_page_end(&html);
 */
#ifndef WAYMARK_LIB_HTTP_HTTP_PAGE_H
#define WAYMARK_LIB_HTTP_HTTP_PAGE_H

#include "lib/base/strbuf.h"

/* A source of style-src in the Content-Security-Policy: it allows the style of the pages alone. */
#define HTTP_PAGE_STYLE_HASH "sha256-nANKe5IAzxRi6JFusNnOtyFTAeTZN3JNvrhK2rIulyM="

/* Who stands at the top. Everything is borrowed. */
struct http_page_brand {
	/* Any text. */
	const char *name;
	/* See http_logo.h; "": the mark of Waymark. */
	const char *logo_path;
	/* Where the name leads; "": nowhere. */
	const char *home;
};

/* What a page is about. */
enum http_page_icon {
	HTTP_PAGE_LINK,
	HTTP_PAGE_BROKEN_LINK,
	HTTP_PAGE_CLOCK,
	HTTP_PAGE_END,
	HTTP_PAGE_WAIT,
	HTTP_PAGE_WARNING,
	HTTP_PAGE_BLOCKED,
	HTTP_PAGE_LOCK,
	HTTP_PAGE_EYE,
	HTTP_PAGE_PHONE,
	HTTP_PAGE_FLAG,
	HTTP_PAGE_CHECK,
};

/* Begins the head; what is added next is in it. language is a tag like "de". */
void http_page_begin(struct strbuf *html, const char *language);
/* Adds the style, ends the head and begins the body and its card; screen readers skip the icon. */
void http_page_begin_body(struct strbuf *html, const struct http_page_brand *brand,
                          enum http_page_icon icon);
/* Ends the card. A footer may follow. */
void http_page_end_main(struct strbuf *html);
void http_page_end(struct strbuf *html);

/* Any text, escaped; also for the value of an attribute in double quotes. */
void http_page_add_escaped(struct strbuf *html, const char *text);

#endif
