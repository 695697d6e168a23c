#include "services/analytics-consumer/storage/unique_visitors.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"

/* Look-ups stop after this many batches in which the log had no visitor that the cache lacked. */
#define LOOKUP_BATCHES 20
#define WAYS 16
#define VISITORS_CACHED ((size_t)1 << 20)

/* --- the cache --- */

#define NOBODY 0
#define ROOM_FACTOR 4

/* The last one that was added comes first, and drops the one that was added longest ago. */
struct set {
	uint64_t visitors[WAYS];
};

struct unique_visitors_cache {
	/* A power of two. */
	size_t count;
	struct set *sets;
};

struct unique_visitors_cache *unique_visitors_cache_new(size_t visitors_max)
{
	struct unique_visitors_cache *cache = mem_zero(sizeof(*cache));
	cache->count = 1;
	while (cache->count * WAYS < visitors_max * ROOM_FACTOR)
		cache->count *= 2;
	cache->sets = mem_array(cache->count, sizeof(*cache->sets));
	return cache;
}

void unique_visitors_cache_free(struct unique_visitors_cache *cache)
{
	if (!cache)
		return;
	free(cache->sets);
	free(cache);
}

static uint64_t key_of(const struct visit *visit)
{
	uint64_t hash;
	memcpy(&hash, visit->visitor_hash, sizeof(hash));
	uint64_t link = entropy_mix((uint64_t)visit->event.link_id);
	uint64_t key = entropy_mix(hash + entropy_mix(link + (uint64_t)visit->day));
	return key != NOBODY ? key : 1;
}

static struct set *set_of(const struct unique_visitors_cache *cache, uint64_t key)
{
	return &cache->sets[key & (cache->count - 1)];
}

static bool has(const struct set *set, uint64_t key)
{
	for (size_t i = 0; i < WAYS; i++)
		if (set->visitors[i] == key)
			return true;
	return false;
}

bool unique_visitors_cache_contains(const struct unique_visitors_cache *cache,
                                    const struct visit *visit)
{
	uint64_t key = key_of(visit);
	return has(set_of(cache, key), key);
}

void unique_visitors_cache_add(struct unique_visitors_cache *cache, const struct visit *visit)
{
	uint64_t key = key_of(visit);
	struct set *set = set_of(cache, key);
	if (has(set, key))
		return;
	memmove(&set->visitors[1], &set->visitors[0], sizeof(*set) - sizeof(set->visitors[0]));
	set->visitors[0] = key;
}

void unique_visitors_cache_clear(struct unique_visitors_cache *cache)
{
	free(cache->sets);
	cache->sets = mem_array(cache->count, sizeof(*cache->sets));
}

/* --- the visitors of a batch --- */

struct unique_visitors {
	struct unique_visitors_cache *cache;
	unsigned lookup_batches_left;
	/* The first visit of each visitor in the batch, in the order of the visits. */
	struct visit **firsts;
	size_t firsts_count;
	/* Those that the cache does not have. */
	struct visit **unknown;
	bool *seen;
};

struct unique_visitors *unique_visitors_new(size_t visits_max)
{
	struct unique_visitors *visitors = mem_zero(sizeof(*visitors));
	visitors->cache = unique_visitors_cache_new(VISITORS_CACHED);
	visitors->lookup_batches_left = LOOKUP_BATCHES;
	visitors->firsts = mem_array(visits_max, sizeof(struct visit *));
	visitors->unknown = mem_array(visits_max, sizeof(struct visit *));
	visitors->seen = mem_array(visits_max, sizeof(bool));
	return visitors;
}

void unique_visitors_free(struct unique_visitors *visitors)
{
	if (!visitors)
		return;
	unique_visitors_cache_free(visitors->cache);
	free(visitors->firsts);
	free(visitors->unknown);
	free(visitors->seen);
	free(visitors);
}

static void find_firsts(struct unique_visitors *visitors, const struct visit_order *order)
{
	visitors->firsts_count = 0;
	for (size_t i = 0; i < order->count; i++) {
		struct visit *visit = order->visits[i];
		visit->event.is_unique = false;
		if (!visit->has_visitor_hash || visit->event.is_bot)
			continue;
		if (visitors->firsts_count == 0 ||
		    !visit_order_is_same_visitor(visitors->firsts[visitors->firsts_count - 1],
		                                 visit))
			visitors->firsts[visitors->firsts_count++] = visit;
	}
}

/* Marks visitors that the cache does not have as unique. Returns their number. */
static size_t find_unknown(struct unique_visitors *visitors)
{
	size_t count = 0;
	for (size_t i = 0; i < visitors->firsts_count; i++) {
		struct visit *visit = visitors->firsts[i];
		visit->event.is_unique = !unique_visitors_cache_contains(visitors->cache, visit);
		if (visit->event.is_unique)
			visitors->unknown[count++] = visit;
	}
	return count;
}

enum err unique_visitors_find(struct unique_visitors *visitors, struct visit_log_store *visit_log,
                              struct pg_conn *conn, const struct visit_order *order)
{
	find_firsts(visitors, order);
	size_t count = find_unknown(visitors);
	if (visitors->lookup_batches_left == 0)
		return OK;
	enum err err = visit_log_store_find_visitors(visit_log, conn, visitors->unknown, count,
	                                             visitors->seen);
	for (size_t i = 0; err == OK && i < count; i++) {
		if (!visitors->seen[i])
			continue;
		visitors->unknown[i]->event.is_unique = false;
		visitors->lookup_batches_left = LOOKUP_BATCHES;
	}
	return err;
}

void unique_visitors_commit(struct unique_visitors *visitors)
{
	visitors->lookup_batches_left -= visitors->lookup_batches_left > 0;
	for (size_t i = 0; i < visitors->firsts_count; i++)
		unique_visitors_cache_add(visitors->cache, visitors->firsts[i]);
}

void unique_visitors_resume_lookups(struct unique_visitors *visitors)
{
	visitors->lookup_batches_left = LOOKUP_BATCHES;
}

void unique_visitors_invalidate(struct unique_visitors *visitors)
{
	unique_visitors_cache_clear(visitors->cache);
	unique_visitors_resume_lookups(visitors);
}
