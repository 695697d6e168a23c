/*
 * Pure. Private to the http_* files: the characters of RFC 9110.
 */
#ifndef WAYMARK_LIB_NET_HTTP_TEXT_H
#define WAYMARK_LIB_NET_HTTP_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* A token (section 5.6.2), as methods and names of headers are; never empty. */
bool http_text_is_token(const char *text, size_t len);

/* What may stand in a header's value: no control byte but the tab. */
bool http_text_is_value(const char *text, size_t len);

/* What may stand in a request's target: no control byte and no space. */
bool http_text_is_target(const char *text, size_t len);

/* What may stand in Host: nothing that would end a URL's authority, no user info, no list. */
bool http_text_is_host(const char *text, size_t len);

#endif
