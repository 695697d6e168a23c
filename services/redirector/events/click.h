/*
 * Safe from any thread. The part of a redirect event that describes the visitor: taken from the
 * request, truncated and sanitised. Of the address only the network and a hash are kept, of the
 * query only the campaign (utm_source, utm_medium, utm_campaign), of the referrer only the page.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_EVENTS_CLICK_H
#define WAYMARK_SERVICES_REDIRECTOR_EVENTS_CLICK_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/client_ip.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/clicks/redirect_event.h"
#include "lib/clicks/salt_store.h"
#include "lib/http/http_server.h"
#include "lib/postgres/pg_pool.h"

/*
 * The salts of the visitor hashes of yesterday, today and tomorrow (UTC). A thread reads them from
 * PostgreSQL every minute, and every second while today's or tomorrow's is missing. So tomorrow's
 * salt is present before midnight, and yesterday's serves requests that arrived before midnight.
 * Older salts are erased. A click without a salt is recorded without a visitor hash.
 */
struct salt_cache;

/* Starts the thread. Everything is borrowed. */
struct salt_cache *click_salts_new(struct pg_pool *postgres, const struct clock *clock,
                                   const struct log *log);
void click_salts_free(struct salt_cache *cache);

/* The salt of the UTC day of time_us, for visitor_hash. False: not known; salt is not written. */
bool click_salts_get(struct salt_cache *cache, int64_t time_us, struct digest_hmac_key *salt);

/*
 * The visitor's address for statistics (http_exchange_client_ip): a program on this machine that
 * names no other visitor is one itself, although its address is trusted. So curl counts beside a
 * local stack. Limits know no such visitor, because a proxy on this machine may have forgotten its
 * header.
 */
struct client_ip click_counted_visitor(struct http_exchange *x);

/*
 * Sets every field of event that comes from the request and the visitor: occurred_at_us, method,
 * prefetch, is_scan, client_network, the texts, and visitor_hash if the salt of that day is known.
 * Nothing has decided yet: rule, variant and alias are "".
 */
void click_describe(struct http_exchange *x, const struct client_ip *visitor,
                    struct salt_cache *salts, struct redirect_event *event);

/* Adds each parameter of the campaign that the visitor lacks and the destination's query has. */
void click_add_campaign(const char *destination, struct redirect_event *event);

/* Whether Sec-Purpose, Purpose or X-Moz announces a prefetch. NULL: not sent. */
bool click_is_prefetch(const char *sec_purpose, const char *purpose, const char *x_moz);

#endif
