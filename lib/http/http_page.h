/*
 * Pure. What the pages for visitors have in common: small, self-contained, in light and dark mode,
 * without a script.
 *
 *   http_page_begin(&html, "en");
 *   strbuf_add_text(&html, "<title>Thank you</title>\n");
 *   http_page_begin_body(&html);
 *   strbuf_add_text(&html, "<h1>Thank you</h1>\n");
 *   http_page_end(&html);
 */
#ifndef WAYMARK_LIB_HTTP_HTTP_PAGE_H
#define WAYMARK_LIB_HTTP_HTTP_PAGE_H

#include "lib/base/strbuf.h"

/* A source of style-src in the Content-Security-Policy: it allows the style of the pages alone. */
#define HTTP_PAGE_STYLE_HASH "sha256-5+7I7MHC+9kbs3PGTpTaCW7NYHfYIAxUMpEyqIH+E6o="

/* Begins the head; what is added next is in it. language is a tag like "de". */
void http_page_begin(struct strbuf *html, const char *language);
/* Adds the style, ends the head and begins the body, with an icon that screen readers skip. */
void http_page_begin_body(struct strbuf *html);
void http_page_end(struct strbuf *html);

/* Any text, escaped; also for the value of an attribute in double quotes. */
void http_page_add_escaped(struct strbuf *html, const char *text);

#endif
