#include "services/analytics-consumer/storage/visitor_cache.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"

#define NOBODY 0
#define ROOM_FACTOR 4

/* The last one that was added comes first. */
struct set {
	uint64_t visitors[VISITOR_CACHE_WAYS];
};

struct visitor_cache {
	/* A power of two. */
	size_t count;
	struct set *sets;
};

struct visitor_cache *visitor_cache_new(size_t visitors_max)
{
	struct visitor_cache *cache = mem_zero(sizeof(*cache));
	cache->count = 1;
	while (cache->count * VISITOR_CACHE_WAYS < visitors_max * ROOM_FACTOR)
		cache->count *= 2;
	cache->sets = mem_array(cache->count, sizeof(*cache->sets));
	return cache;
}

void visitor_cache_free(struct visitor_cache *cache)
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

static struct set *set_of(const struct visitor_cache *cache, uint64_t key)
{
	return &cache->sets[key & (cache->count - 1)];
}

static bool has(const struct set *set, uint64_t key)
{
	for (size_t i = 0; i < VISITOR_CACHE_WAYS; i++)
		if (set->visitors[i] == key)
			return true;
	return false;
}

bool visitor_cache_contains(const struct visitor_cache *cache, const struct visit *visit)
{
	uint64_t key = key_of(visit);
	return has(set_of(cache, key), key);
}

void visitor_cache_add(struct visitor_cache *cache, const struct visit *visit)
{
	uint64_t key = key_of(visit);
	struct set *set = set_of(cache, key);
	if (has(set, key))
		return;
	memmove(&set->visitors[1], &set->visitors[0], sizeof(*set) - sizeof(set->visitors[0]));
	set->visitors[0] = key;
}

void visitor_cache_clear(struct visitor_cache *cache)
{
	free(cache->sets);
	cache->sets = mem_array(cache->count, sizeof(*cache->sets));
}
