/*
 * Pure. Entity tags of links: "v<version>" (RFC 9110, 8.8.3 and 13.1.1).
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_ETAG_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_ETAG_H

#include <stdbool.h>
#include <stdint.h>

#define ETAG_SIZE 32

/* With its quotes. */
void etag_format(int64_t version, char out[static ETAG_SIZE]);

/*
 * Whether an If-Match header lets a change of this version pass: "*", or a list with its tag. Weak and malformed tags
 * match nothing. NULL: there is no such header, everything passes.
 */
bool etag_if_match(const char *header, int64_t version);

/* Whether an If-None-Match header lets an answer with this tag (with its quotes) go out whole; weak tags count. */
bool etag_if_none_match(const char *header, const char *etag);

#endif
