/*
 * One thread at a time. Which visitors a link has seen on a UTC day: the table link_day_visitors, by the first eight
 * bytes of their hash. It makes unique visitors exact, for humans only; the janitor deletes a day VISITORS_KEEP_S (two
 * days) after it, later than its salt.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_VISITOR_STORE_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_VISITOR_STORE_H

#include <stddef.h>

#include "lib/base/err.h"
#include "lib/net/pg_conn.h"
#include "services/analytics-consumer/visit.h"

struct visitor_store;

struct visitor_store *visitor_store_new(size_t visits_max);
void visitor_store_free(struct visitor_store *store);

/*
 * Sets event.unique of the new visits: the first of a human visitor to a link on a day. One without a visitor hash is
 * not unique. Rows go in in the order of the key, so that two writers never wait for each other in a circle.
 */
enum err visitor_store_see(struct visitor_store *store, struct pg_conn *conn, struct visit *visits,
                           size_t count) MUST_CHECK;

#endif
