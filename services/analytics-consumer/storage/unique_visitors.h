/*
 * One thread at a time. Decides which visits are unique. Of all visits of a human visitor to a link
 * on a UTC day, exactly one has is_unique in visit_log; the log's unique index
 * visit_log_visitor_idx enforces it.
 *
 * A visitor that the cache does not have (visitor_cache.h) is looked up in the log, as long as
 * look-ups find visitors that are already there. When they have found none for some batches,
 * look-ups stop and every unknown visitor is taken as new. That happens in a consumer that has seen
 * the whole day, or that works through a backlog. If the assumption is wrong, the index rejects the
 * insert. The transaction fails and is repeated with look-ups.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_UNIQUE_VISITORS_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_UNIQUE_VISITORS_H

#include <stddef.h>

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"
#include "services/analytics-consumer/storage/visit_log_store.h"
#include "services/analytics-consumer/storage/visit_order.h"

struct unique_visitors;

struct unique_visitors *unique_visitors_new(size_t visits_max);
void unique_visitors_free(struct unique_visitors *visitors);

/*
 * Sets event.is_unique of the visits: true for the first visit of a human visitor to a link on a
 * day, false without a visitor hash. Call it in the transaction that stores the visits, after the
 * fence, so that it sees what the previous owner counted.
 */
enum err unique_visitors_find(struct unique_visitors *visitors, struct visit_log_store *visit_log,
                              struct pg_conn *conn, const struct visit_order *order) MUST_CHECK;

/* The transaction of the last find was committed: adds its visitors to the cache. */
void unique_visitors_commit(struct unique_visitors *visitors);

/* The index rejected a visitor that was taken as new: look-ups start again. */
void unique_visitors_resume_lookups(struct unique_visitors *visitors);

/* Clears the cache, because another owner or server may have been active. Look-ups restart. */
void unique_visitors_invalidate(struct unique_visitors *visitors);

#endif
