/*
 * One thread at a time. Remembers visitors that the visit log already has as unique, which saves
 * most look-ups. It has false negatives: it may have forgotten a visitor. Its size is fixed: a
 * visitor belongs to a set of VISITOR_CACHE_WAYS, from which a new one drops the one that was added
 * longest ago.
 *
 * A visitor is stored as 64 bits of hash, link and day. With all capacity in use, a new visitor
 * collides with a cached one with a probability of 1 in 4,000,000,000,000. At a thousand million
 * visits a day this is one visitor in four thousand days.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_VISITOR_CACHE_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_VISITOR_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#include "services/analytics-consumer/facts/visit.h"

#define VISITOR_CACHE_WAYS 16

struct visitor_cache;

/*
 * Has room for four to eight times visitors_max, at 8 bytes each. So nearly all of the last
 * visitors_max visitors are there: less than one in a million of them lost its place to others.
 */
struct visitor_cache *visitor_cache_new(size_t visitors_max);
void visitor_cache_free(struct visitor_cache *cache);

/* visit must have a visitor hash. */
bool visitor_cache_contains(const struct visitor_cache *cache, const struct visit *visit);
void visitor_cache_add(struct visitor_cache *cache, const struct visit *visit);
void visitor_cache_clear(struct visitor_cache *cache);

#endif
