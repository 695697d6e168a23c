#include "services/analytics-consumer/facts/text_cache.h"

#include <stdalign.h>
#include <string.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"

#define NONE UINT32_MAX

struct entry {
	uint64_t hash;
	uint32_t chain;                      /* the next entry of the same bucket */
	uint32_t newer, older;               /* neighbours in the LRU list */
	alignas(max_align_t) char content[]; /* the value, followed by the text */
};

struct text_cache {
	uint64_t seed;
	uint32_t capacity, count;
	uint32_t newest, oldest;
	uint32_t mask; /* number of buckets - 1; the number is a power of two */
	uint32_t *buckets;
	size_t text_max, value_size, entry_size;
	char *entries;
};

static struct entry *entry_at(const struct text_cache *cache, uint32_t i)
{
	return (struct entry *)(cache->entries + i * cache->entry_size);
}

static char *text_of(const struct text_cache *cache, struct entry *entry)
{
	return entry->content + cache->value_size;
}

struct text_cache *text_cache_new(size_t capacity, size_t text_max, size_t value_size)
{
	struct text_cache *cache = mem_zero(sizeof(*cache));
	size_t buckets = 16;
	while (buckets < capacity)
		buckets *= 2;
	entropy_fill(&cache->seed, sizeof(cache->seed));
	cache->capacity = (uint32_t)capacity;
	cache->mask = (uint32_t)(buckets - 1);
	cache->buckets = mem_array(buckets, sizeof(*cache->buckets));
	cache->text_max = text_max;
	cache->value_size = value_size;
	size_t size = sizeof(struct entry) + value_size + text_max + 1;
	cache->entry_size =
		(size + alignof(struct entry) - 1) / alignof(struct entry) * alignof(struct entry);
	cache->entries = mem_array(capacity, cache->entry_size);
	text_cache_clear(cache);
	return cache;
}

void text_cache_clear(struct text_cache *cache)
{
	cache->count = 0;
	cache->newest = cache->oldest = NONE;
	memset(cache->buckets, 0xff, ((size_t)cache->mask + 1) * sizeof(*cache->buckets));
}

void text_cache_free(struct text_cache *cache)
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

static uint64_t mix(const struct text_cache *cache, uint64_t hash, uint64_t word)
{
	return fold(hash ^ word ^ UINT64_C(0xa0761d6478bd642f), cache->seed | 1);
}

static uint64_t hash_of(const struct text_cache *cache, const char *text, size_t len)
{
	uint64_t hash = cache->seed ^ len;
	uint64_t word;
	for (; len >= sizeof(word); text += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		hash = mix(cache, hash, word);
	}
	word = 0;
	memcpy(&word, text, len);
	return mix(cache, hash, word);
}

static void unlink_entry(struct text_cache *cache, uint32_t i)
{
	const struct entry *e = entry_at(cache, i);
	if (e->newer == NONE)
		cache->newest = e->older;
	else
		entry_at(cache, e->newer)->older = e->older;
	if (e->older == NONE)
		cache->oldest = e->newer;
	else
		entry_at(cache, e->older)->newer = e->newer;
}

static void link_newest(struct text_cache *cache, uint32_t i)
{
	struct entry *e = entry_at(cache, i);
	e->newer = NONE;
	e->older = cache->newest;
	if (cache->newest == NONE)
		cache->oldest = i;
	else
		entry_at(cache, cache->newest)->newer = i;
	cache->newest = i;
}

const void *text_cache_get(struct text_cache *cache, const char *text)
{
	uint64_t hash = hash_of(cache, text, strlen(text));
	uint32_t i = cache->buckets[hash & cache->mask];
	struct entry *e = NULL;
	for (; i != NONE; i = e->chain) {
		e = entry_at(cache, i);
		if (e->hash == hash && strcmp(text_of(cache, e), text) == 0)
			break;
	}
	if (i == NONE)
		return NULL;
	if (cache->newest != i) {
		unlink_entry(cache, i);
		link_newest(cache, i);
	}
	return e->content;
}

/* Removes the least recently used entry and returns its index. */
static uint32_t evict(struct text_cache *cache)
{
	uint32_t victim = cache->oldest;
	uint32_t *at = &cache->buckets[entry_at(cache, victim)->hash & cache->mask];
	while (*at != victim)
		at = &entry_at(cache, *at)->chain;
	*at = entry_at(cache, victim)->chain;
	unlink_entry(cache, victim);
	return victim;
}

void text_cache_put(struct text_cache *cache, const char *text, const void *value)
{
	size_t len = strlen(text);
	if (len > cache->text_max)
		return;
	uint32_t i = cache->count < cache->capacity ? cache->count++ : evict(cache);
	struct entry *e = entry_at(cache, i);
	e->hash = hash_of(cache, text, len);
	memcpy(e->content, value, cache->value_size);
	memcpy(text_of(cache, e), text, len + 1);
	e->chain = cache->buckets[e->hash & cache->mask];
	cache->buckets[e->hash & cache->mask] = i;
	link_newest(cache, i);
}
