/*
 * One thread at a time. Decides which visits are unique. Of all visits of a human visitor to a link
 * on a UTC day, exactly one has is_unique in visit_log; the log's unique index
 * visit_log_visitor_idx enforces it.
 *
 * A visitor that the cache does not have is looked up in the log, as long as
 * look-ups find visitors that are already there. When they have found none for some batches,
 * look-ups stop and every unknown visitor is taken as new. That happens in a consumer that has seen
 * the whole day, or that works through a backlog. If the assumption is wrong, the index rejects the
 * insert. The transaction fails and is repeated with look-ups.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_UNIQUE_VISITORS_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_UNIQUE_VISITORS_H

#include <stdbool.h>
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

/* --- the cache, for tests --- */

/*
 * Remembers visitors that the visit log already has as unique, which saves most look-ups. It has
 * false negatives: it may have forgotten a visitor. Its size is fixed, with room for four to eight
 * times visitors_max, at 8 bytes each. So nearly all of the last visitors_max visitors are there:
 * less than one in a million of them lost its place to others.
 *
 * A visitor is stored as 64 bits of hash, link and day. With all capacity in use, a new visitor
 * collides with a cached one with a probability of 1 in 4,000,000,000,000. At a thousand million
 * visits a day this is one visitor in four thousand days.
 */
struct unique_visitors_cache;

struct unique_visitors_cache *unique_visitors_cache_new(size_t visitors_max);
void unique_visitors_cache_free(struct unique_visitors_cache *cache);

/* visit must have a visitor hash. */
bool unique_visitors_cache_contains(const struct unique_visitors_cache *cache,
                                    const struct visit *visit);
void unique_visitors_cache_add(struct unique_visitors_cache *cache, const struct visit *visit);
void unique_visitors_cache_clear(struct unique_visitors_cache *cache);

#endif
