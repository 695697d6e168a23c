/*
 * Safe from any thread. Private to the http_* files: how many connections there are, overall and per peer address (of
 * IPv6 its /64, because one peer owns a whole one).
 */
#ifndef WAYMARK_LIB_NET_HTTP_CONNECTION_LIMIT_H
#define WAYMARK_LIB_NET_HTTP_CONNECTION_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/net/client_ip.h"

struct http_connection_limit;

/* per_ip 0 = no ceiling per address; addresses in trusted (borrowed, may be NULL) have none. */
struct http_connection_limit *http_connection_limit_new(size_t connections, size_t per_ip,
                                                        const struct client_ip_ranges *trusted);
void http_connection_limit_free(struct http_connection_limit *limit);

/* Whether one more from this peer would be within the ceilings. */
bool http_connection_limit_allows(struct http_connection_limit *limit, const struct client_ip *peer);

void http_connection_limit_opened(struct http_connection_limit *limit, const struct client_ip *peer);
void http_connection_limit_closed(struct http_connection_limit *limit, const struct client_ip *peer);

size_t http_connection_limit_count(struct http_connection_limit *limit);

#endif
