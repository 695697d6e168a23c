#include "lib/visitors/text_cache.h"

#include <stdalign.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/hash_table.h"
#include "lib/base/mem.h"

struct entry {
	UT_hash_handle hh;
	/* The value, followed by the text. */
	alignas(max_align_t) char content[];
};

struct text_cache {
	uint64_t seed;
	size_t capacity, text_max, value_size;
	/* From the least to the most recently used one. */
	struct entry *entries;
};

struct text_cache *text_cache_new(size_t capacity, size_t text_max, size_t value_size)
{
	struct text_cache *cache = mem_zero(sizeof(*cache));
	*cache = (struct text_cache){ hash_table_seed(), capacity, text_max, value_size, NULL };
	return cache;
}

static void drop_oldest(struct text_cache *cache)
{
	struct entry *oldest = cache->entries;
	HASH_DEL(cache->entries, oldest);
	free(oldest);
}

void text_cache_clear(struct text_cache *cache)
{
	while (cache->entries)
		drop_oldest(cache);
}

void text_cache_free(struct text_cache *cache)
{
	if (!cache)
		return;
	text_cache_clear(cache);
	free(cache);
}

static unsigned hash_of(const struct text_cache *cache, const char *text, size_t len)
{
	return (unsigned)hash_table_hash(cache->seed, text, len);
}

const void *text_cache_get(struct text_cache *cache, const char *text)
{
	struct entry *e;
	size_t len = strlen(text);
	unsigned hash = hash_of(cache, text, len);
	HASH_FIND_BYHASHVALUE(hh, cache->entries, text, len, hash, e);
	if (!e)
		return NULL;
	bool is_newest = !e->hh.next;
	if (!is_newest) {
		HASH_DEL(cache->entries, e);
		HASH_ADD_KEYPTR_BYHASHVALUE(hh, cache->entries, e->content + cache->value_size,
		                            e->hh.keylen, hash, e);
	}
	return e->content;
}

void text_cache_put(struct text_cache *cache, const char *text, const void *value)
{
	size_t len = strlen(text);
	if (len > cache->text_max)
		return;
	if (HASH_COUNT(cache->entries) == cache->capacity)
		drop_oldest(cache);
	struct entry *e = mem_zero(sizeof(*e) + cache->value_size + len + 1);
	memcpy(e->content, value, cache->value_size);
	memcpy(e->content + cache->value_size, text, len + 1);
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, cache->entries, e->content + cache->value_size, len,
	                            hash_of(cache, text, len), e);
}
