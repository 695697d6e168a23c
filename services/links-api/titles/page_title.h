/*
 * Pure. The title that an HTML page gives itself: what stands in <title>, or else in og:title. The page
 * is a stranger's and may be any bytes, or only the first ones.
 *
 * Its encoding is what a byte order mark, the Content-Type or a <meta> says; without one it is UTF-8, or
 * else windows-1252. Entities are decoded, control characters and those that turn the direction of text
 * are dropped, and white space is one space. The result is text: it may contain "<".
 */
#ifndef WAYMARK_SERVICES_LINKS_API_TITLES_PAGE_TITLE_H
#define WAYMARK_SERVICES_LINKS_API_TITLES_PAGE_TITLE_H

#include <stddef.h>

#include "lib/base/err.h"
#include "lib/links/link.h"

/*
 * type: Content-Type. out: valid UTF-8 of 1 to LINK_TITLE_CHARS_MAX characters; longer titles are cut.
 * ERR_NOT_FOUND: type is not that of HTML, or the page has no title, or none in an encoding that we know.
 */
enum err page_title_read(const char *type, const char *html, size_t len,
                         char out[static LINK_TITLE_SIZE]) MUST_CHECK;

#endif
