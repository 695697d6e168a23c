/* Pure. Entity tags (RFC 9110, 8.8.3, 13.1.1 and 13.1.2). That of a link is "v<version>". */
#ifndef WAYMARK_SERVICES_LINKS_API_HTTP_ETAG_H
#define WAYMARK_SERVICES_LINKS_API_HTTP_ETAG_H

#include <stdbool.h>
#include <stdint.h>

#define ETAG_SIZE 32

/* Writes the tag with its quotes. */
void etag_format(int64_t version, char out[static ETAG_SIZE]);

/* Returns true if the header is "*" or a list of entity tags, which have quotes. */
bool etag_list_is_valid(const char *header);

/*
 * Returns true if an If-Match header allows a change of this version: "*", or a list that contains
 * its tag. Weak and malformed tags match nothing. A NULL header allows every change.
 */
bool etag_if_match(const char *header, int64_t version);

/*
 * Returns true if an If-None-Match header requires the full response, false if 304 is enough. etag
 * includes its quotes. Weak tags match, too. A NULL header requires the full response.
 */
bool etag_if_none_match(const char *header, const char *etag);

#endif
