/* Pure. Private to the http_* files. Character classes of RFC 9110. */
#ifndef WAYMARK_LIB_HTTP_HTTP_TEXT_H
#define WAYMARK_LIB_HTTP_HTTP_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* A token (section 5.6.2), such as a method or a header name. False for "". */
bool http_text_is_token(const char *text, size_t len);

/* A header value: no control bytes except the tab. */
bool http_text_is_value(const char *text, size_t len);

/* A request target: no control bytes and no spaces. */
bool http_text_is_target(const char *text, size_t len);

/* A Host: nothing that ends a URL's authority, no user info, no list. */
bool http_text_is_host(const char *text, size_t len);

#endif
