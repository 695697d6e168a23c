#include "services/analytics-consumer/facts/user_agent_cache.h"

#include <string.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"
#include "lib/clicks/redirect_event.h"

#define NONE UINT32_MAX
#define TEXT_SIZE (REDIRECT_EVENT_USER_AGENT_MAX + 1)

struct entry {
	uint64_t hash;
	uint32_t chain;        /* the next entry of the same bucket */
	uint32_t newer, older; /* neighbours in the LRU list */
	char text[TEXT_SIZE];
	struct user_agent value;
};

struct user_agent_cache {
	uint64_t seed;
	uint32_t capacity, count;
	uint32_t newest, oldest;
	uint32_t mask; /* number of buckets - 1; the number is a power of two */
	uint32_t *buckets;
	struct entry *entries;
};

struct user_agent_cache *user_agent_cache_new(size_t capacity)
{
	struct user_agent_cache *cache = mem_zero(sizeof(*cache));
	size_t buckets = 16;
	while (buckets < capacity)
		buckets *= 2;
	entropy_fill(&cache->seed, sizeof(cache->seed));
	cache->capacity = (uint32_t)capacity;
	cache->mask = (uint32_t)(buckets - 1);
	cache->buckets = mem_array(buckets, sizeof(*cache->buckets));
	cache->entries = mem_array(capacity, sizeof(*cache->entries));
	user_agent_cache_clear(cache);
	return cache;
}

void user_agent_cache_clear(struct user_agent_cache *cache)
{
	cache->count = 0;
	cache->newest = cache->oldest = NONE;
	memset(cache->buckets, 0xff, ((size_t)cache->mask + 1) * sizeof(*cache->buckets));
}

void user_agent_cache_free(struct user_agent_cache *cache)
{
	if (!cache)
		return;
	free(cache->buckets);
	free(cache->entries);
	free(cache);
}

/* Multiply and fold as in wyhash, eight bytes at a time. Every step uses the seed. */
static uint64_t fold(uint64_t a, uint64_t b)
{
	__extension__ typedef unsigned __int128 uint128;
	uint128 product = (uint128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_of(const struct user_agent_cache *cache, const char *text, size_t len)
{
	uint64_t hash = cache->seed ^ len;
	while (len > 0) {
		uint64_t word = 0;
		size_t part = len < sizeof(word) ? len : sizeof(word);
		memcpy(&word, text, part);
		hash = fold(hash ^ word ^ UINT64_C(0xa0761d6478bd642f), cache->seed | 1);
		text += part;
		len -= part;
	}
	return hash;
}

static void unlink_entry(struct user_agent_cache *cache, uint32_t i)
{
	const struct entry *e = &cache->entries[i];
	if (e->newer == NONE)
		cache->newest = e->older;
	else
		cache->entries[e->newer].older = e->older;
	if (e->older == NONE)
		cache->oldest = e->newer;
	else
		cache->entries[e->older].newer = e->newer;
}

static void link_newest(struct user_agent_cache *cache, uint32_t i)
{
	struct entry *e = &cache->entries[i];
	e->newer = NONE;
	e->older = cache->newest;
	if (cache->newest == NONE)
		cache->oldest = i;
	else
		cache->entries[cache->newest].newer = i;
	cache->newest = i;
}

const struct user_agent *user_agent_cache_get(struct user_agent_cache *cache, const char *text)
{
	uint64_t hash = hash_of(cache, text, strlen(text));
	uint32_t i = cache->buckets[hash & cache->mask];
	while (i != NONE &&
	       (cache->entries[i].hash != hash || strcmp(cache->entries[i].text, text) != 0))
		i = cache->entries[i].chain;
	if (i == NONE)
		return NULL;
	if (cache->newest != i) {
		unlink_entry(cache, i);
		link_newest(cache, i);
	}
	return &cache->entries[i].value;
}

/* Removes the least recently used entry and returns its index. */
static uint32_t evict(struct user_agent_cache *cache)
{
	uint32_t victim = cache->oldest;
	uint32_t *at = &cache->buckets[cache->entries[victim].hash & cache->mask];
	while (*at != victim)
		at = &cache->entries[*at].chain;
	*at = cache->entries[victim].chain;
	unlink_entry(cache, victim);
	return victim;
}

void user_agent_cache_put(struct user_agent_cache *cache, const char *text,
                          const struct user_agent *value)
{
	size_t len = strlen(text);
	if (len >= TEXT_SIZE)
		return;
	uint32_t i = cache->count < cache->capacity ? cache->count++ : evict(cache);
	struct entry *e = &cache->entries[i];
	e->hash = hash_of(cache, text, len);
	memcpy(e->text, text, len + 1);
	e->value = *value;
	e->chain = cache->buckets[e->hash & cache->mask];
	cache->buckets[e->hash & cache->mask] = i;
	link_newest(cache, i);
}
