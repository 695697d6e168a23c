/*
 * One thread at a time. Who is a unique visitor: of all visits of a human visitor to a link on a UTC day, one carries
 * is_unique in visit_log, and the log's unique index visit_log_visitor_idx keeps it at one.
 *
 * A visitor whom the memory does not know (visitor_memory.h) is looked up in the log, for as long as that finds any who
 * have been before. When it has found none for a while, as with a consumer that has seen the day from its beginning or
 * that works off a backlog, everybody unknown is taken for new. Where that was wrong the index says so: the
 * transaction has failed, and is done again with looking up.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_UNIQUE_VISITORS_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_UNIQUE_VISITORS_H

#include <stddef.h>

#include "lib/base/err.h"
#include "lib/net/pg_conn.h"
#include "services/analytics-consumer/visit_log_store.h"
#include "services/analytics-consumer/visit_order.h"

struct unique_visitors;

struct unique_visitors *unique_visitors_new(size_t visits_max);
void unique_visitors_free(struct unique_visitors *visitors);

/*
 * Sets event.unique of the visits: the first of a human visitor to a link on a day. One without a visitor hash is not
 * unique. In the transaction that stores them, behind the fence: what the owner before has counted is seen.
 */
enum err unique_visitors_find(struct unique_visitors *visitors, struct visit_log_store *visit_log, struct pg_conn *conn,
                              const struct visit_order *order) MUST_CHECK;

/* The transaction of the last find has been committed: whom it was about is known from now on. */
void unique_visitors_keep(struct unique_visitors *visitors);

/* The index has refused a visitor who was taken for new: they are looked up again. */
void unique_visitors_doubt(struct unique_visitors *visitors);

/* Another owner may have been at work, or another server: what is known may not be so. */
void unique_visitors_forget(struct unique_visitors *visitors);

#endif
