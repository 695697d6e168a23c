/*
 * Pure. The font of the pages for visitors (http_page.h), which is that of the dashboard: embedded if npm
 * has brought it. Without it, browsers take their own.
 */
#ifndef WAYMARK_LIB_HTTP_HTTP_FONT_H
#define WAYMARK_LIB_HTTP_HTTP_FONT_H

#include <stdbool.h>

#include "lib/http/http_server.h"

/* As in the style of the pages. No slug is "assets". */
#define HTTP_FONT_PATH "/assets/geist.woff2"

/* Completes x, a GET or HEAD, with the font: 200. False: its path is another one, or there is no font. */
bool http_font_respond(struct http_exchange *x);

#endif
