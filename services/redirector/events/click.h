/*
 * Safe from any thread. The part of a redirect event that describes the visitor: taken from the
 * request, truncated and sanitised. Of the address only the network and a hash are kept, of the
 * query only the campaign (utm_source, utm_medium, utm_campaign), of the referrer only the page.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_EVENTS_CLICK_H
#define WAYMARK_SERVICES_REDIRECTOR_EVENTS_CLICK_H

#include <stdbool.h>

#include "lib/base/client_ip.h"
#include "lib/clicks/redirect_event.h"
#include "lib/http/http_server.h"
#include "services/redirector/events/salt_cache.h"

/*
 * The visitor's address for statistics (http_exchange_client_ip): a program on this machine that
 * names no other visitor is one itself, although its address is trusted. So curl counts beside a local stack. Limits know no such
 * visitor, because a proxy on this machine may have forgotten its header.
 */
struct client_ip click_counted_visitor(struct http_exchange *x);

/*
 * Sets every field of event that comes from the request and the visitor: occurred_at_us, method,
 * prefetch, client_network, the texts, and visitor_hash if the salt of that day is known.
 */
void click_describe(struct http_exchange *x, const struct client_ip *visitor,
                    struct salt_cache *salts, struct redirect_event *event);

/* Whether Sec-Purpose, Purpose or X-Moz announces a prefetch. NULL: not sent. */
bool click_is_prefetch(const char *sec_purpose, const char *purpose, const char *x_moz);

#endif
