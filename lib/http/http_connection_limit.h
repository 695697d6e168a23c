/*
 * Safe from any thread. Private to the http_* files. Counts connections overall and per peer
 * address. IPv6 counts by /64, because one subscriber usually has a whole /64.
 */
#ifndef WAYMARK_LIB_HTTP_HTTP_CONNECTION_LIMIT_H
#define WAYMARK_LIB_HTTP_HTTP_CONNECTION_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/client_ip.h"

struct http_connection_limit;

/* per_ip 0: no ceiling per address. Addresses in trusted (borrowed, may be NULL) never have one. */
struct http_connection_limit *http_connection_limit_new(size_t connections, size_t per_ip,
                                                        const struct client_ip_ranges *trusted);
void http_connection_limit_free(struct http_connection_limit *limit);

enum http_connection_decision {
	HTTP_CONNECTION_ALLOWED,
	HTTP_CONNECTION_NEEDS_ROOM, /* all places are taken: accept it if another is evicted */
	HTTP_CONNECTION_REFUSED,    /* its address has its share, or too many are being evicted */
};

/* Whether one more connection from this peer stays within the ceilings. */
enum http_connection_decision http_connection_limit_decide(struct http_connection_limit *limit,
                                                           const struct client_ip *peer);

void http_connection_limit_opened(struct http_connection_limit *limit,
                                  const struct client_ip *peer);
void http_connection_limit_closed(struct http_connection_limit *limit,
                                  const struct client_ip *peer);

#endif
