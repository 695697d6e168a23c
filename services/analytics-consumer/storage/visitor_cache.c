#include "services/analytics-consumer/storage/visitor_cache.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"

#define FREE_SLOT 0

/* An open-addressing hash table, at most half full. */
struct generation {
	uint64_t *slots;
	size_t count;
};

struct visitor_cache {
	size_t visitors_max;
	size_t slots; /* a power of two */
	struct generation young;
	struct generation old;
};

struct visitor_cache *visitor_cache_new(size_t visitors_max)
{
	struct visitor_cache *cache = mem_zero(sizeof(*cache));
	cache->visitors_max = visitors_max;
	cache->slots = 16;
	while (cache->slots < 2 * visitors_max)
		cache->slots *= 2;
	cache->young.slots = mem_array(cache->slots, sizeof(uint64_t));
	cache->old.slots = mem_array(cache->slots, sizeof(uint64_t));
	visitor_cache_clear(cache);
	return cache;
}

void visitor_cache_free(struct visitor_cache *cache)
{
	if (!cache)
		return;
	free(cache->young.slots);
	free(cache->old.slots);
	free(cache);
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static uint64_t key_of(const struct visit *visit)
{
	uint64_t hash;
	memcpy(&hash, visit->visitor_hash, sizeof(hash));
	uint64_t link_day = (uint64_t)visit->event.link_id * UINT64_C(0x9e3779b97f4a7c15) +
	                    (uint64_t)visit->day;
	uint64_t key = mix(hash + mix(link_day));
	return key != FREE_SLOT ? key : 1;
}

/* The slot of key, or the free slot where it belongs. */
static uint64_t *find(const struct visitor_cache *cache, const struct generation *generation,
                      uint64_t key)
{
	size_t at = key & (cache->slots - 1);
	while (generation->slots[at] != FREE_SLOT && generation->slots[at] != key)
		at = (at + 1) & (cache->slots - 1);
	return &generation->slots[at];
}

static bool has(const struct visitor_cache *cache, const struct generation *generation,
                uint64_t key)
{
	return generation->count > 0 && *find(cache, generation, key) == key;
}

bool visitor_cache_contains(const struct visitor_cache *cache, const struct visit *visit)
{
	uint64_t key = key_of(visit);
	return has(cache, &cache->young, key) || has(cache, &cache->old, key);
}

static void empty(const struct visitor_cache *cache, struct generation *generation)
{
	if (generation->count > 0)
		memset(generation->slots, 0, cache->slots * sizeof(uint64_t));
	generation->count = 0;
}

static void age(struct visitor_cache *cache)
{
	struct generation dropped = cache->old;
	cache->old = cache->young;
	cache->young = dropped;
	empty(cache, &cache->young);
}

void visitor_cache_add(struct visitor_cache *cache, const struct visit *visit)
{
	uint64_t key = key_of(visit);
	if (has(cache, &cache->young, key))
		return;
	if (cache->young.count == cache->visitors_max)
		age(cache);
	*find(cache, &cache->young, key) = key;
	cache->young.count++;
}

void visitor_cache_clear(struct visitor_cache *cache)
{
	empty(cache, &cache->young);
	empty(cache, &cache->old);
}
