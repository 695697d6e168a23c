/*
 * Safe from any thread. What an event says about the visitor: taken from the request, cut and cleaned, and without the
 * address, of which only the network and a hash go on.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_CLICK_H
#define WAYMARK_SERVICES_REDIRECTOR_CLICK_H

#include <stdbool.h>

#include "lib/clicks/redirect_event.h"
#include "lib/net/client_ip.h"
#include "lib/net/http_server.h"
#include "services/redirector/salt_keeper.h"

/* The visitor's address, for the moment of the request only: never kept, sent or logged. */
struct client_ip click_visitor(struct http_exchange *x, const struct client_ip_ranges *trusted);

/*
 * Sets all of event that comes from the request and the visitor: occurred_at_us, method, prefetch, visitor_hash
 * (if the salt of that day is at hand), client_network and the texts.
 */
void click_describe(struct http_exchange *x, const struct client_ip *visitor, struct salt_keeper *salts,
                    struct redirect_event *event);

/* Whether one of the headers Sec-Purpose, Purpose and X-Moz says that nobody may be looking. NULL = not sent. */
bool click_is_prefetch(const char *sec_purpose, const char *purpose, const char *x_moz);

#endif
