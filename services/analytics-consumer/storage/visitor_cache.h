/*
 * One thread at a time. Remembers visitors that the visit log already has as unique, which saves
 * most look-ups. It has false negatives: it may have forgotten a visitor. Its size is bounded by
 * two generations. When the young one is full, the old one is dropped whole.
 *
 * A visitor is stored as 64 bits of hash, link and day. With all capacity in use, a new visitor
 * collides with a cached one with a probability of 1 in 10,000,000,000,000. At a thousand million
 * visits a day this is one visitor in ten thousand days.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_VISITOR_CACHE_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_VISITOR_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#include "services/analytics-consumer/facts/visit.h"

struct visitor_cache;

/*
 * Keeps at least the last visitors_max visitors and at most twice as many, at 16 to 32 bytes each.
 */
struct visitor_cache *visitor_cache_new(size_t visitors_max);
void visitor_cache_free(struct visitor_cache *cache);

/* visit must have a visitor hash. */
bool visitor_cache_contains(const struct visitor_cache *cache, const struct visit *visit);
void visitor_cache_add(struct visitor_cache *cache, const struct visit *visit);
void visitor_cache_clear(struct visitor_cache *cache);

#endif
