#include "services/redirector/cache/memory_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/redirector/cache/memory_shard.h"
#include "services/redirector/cache/slug_hash.h"

#define SHARDS_MAX 64
#define SHARD_BYTES_MIN ((size_t)1024 * 1024)

/* One cache line each, so loops that use different shards do not share lines. */
struct locked_shard {
	pthread_mutex_t lock;
	struct memory_shard *shard;
} __attribute__((aligned(64)));

struct memory_cache {
	struct slug_hash_key key;
	_Atomic int64_t ttl_us;
	/* Entries of this version or an older one do not answer. */
	_Atomic int64_t above;
	/* NULL: no feed. */
	const struct watermark_tracker *watermark;
	const struct recent_changes *changes;
	/* A power of two. */
	size_t shard_count;
	struct locked_shard *shards;
};

struct memory_cache *memory_cache_new(size_t bytes, int64_t ttl_us)
{
	struct memory_cache *cache = mem_zero(sizeof(*cache));
	slug_hash_key_generate(&cache->key);
	atomic_init(&cache->ttl_us, ttl_us);
	cache->shard_count = SHARDS_MAX;
	while (cache->shard_count > 1 && bytes / cache->shard_count < SHARD_BYTES_MIN)
		cache->shard_count /= 2;
	cache->shards = aligned_alloc(64, cache->shard_count * sizeof(*cache->shards));
	if (!cache->shards)
		abort();
	for (size_t i = 0; i < cache->shard_count; i++) {
		pthread_mutex_init(&cache->shards[i].lock, NULL);
		cache->shards[i].shard = memory_shard_new(bytes / cache->shard_count, &cache->key);
	}
	return cache;
}

void memory_cache_free(struct memory_cache *cache)
{
	if (!cache)
		return;
	for (size_t i = 0; i < cache->shard_count; i++) {
		memory_shard_free(cache->shards[i].shard);
		pthread_mutex_destroy(&cache->shards[i].lock);
	}
	free(cache->shards);
	free(cache);
}

/* The upper bits of the hash choose the shard, the lower bits the bucket in it. */
static struct memory_shard *lock_shard(struct memory_cache *cache, uint64_t hash,
                                       pthread_mutex_t **lock)
{
	struct locked_shard *chosen = &cache->shards[(hash >> 58) & (cache->shard_count - 1)];
	*lock = &chosen->lock;
	pthread_mutex_lock(*lock);
	return chosen->shard;
}

void memory_cache_use_feed(struct memory_cache *cache, const struct watermark_tracker *watermark,
                           const struct recent_changes *changes)
{
	cache->watermark = watermark;
	cache->changes = changes;
}

void memory_cache_set_ttl(struct memory_cache *cache, int64_t ttl_us)
{
	atomic_store_explicit(&cache->ttl_us, ttl_us, memory_order_relaxed);
}

int64_t memory_cache_ttl_us(const struct memory_cache *cache)
{
	return atomic_load_explicit(&cache->ttl_us, memory_order_relaxed);
}

void memory_cache_require_above(struct memory_cache *cache, int64_t version)
{
	if (version > atomic_load_explicit(&cache->above, memory_order_relaxed))
		atomic_store_explicit(&cache->above, version, memory_order_relaxed);
}

static bool is_tracked_now(const struct memory_cache *cache, const struct memory_link *link)
{
	return link->is_tracked &&
	       watermark_tracker_is_continuous_since(cache->watermark, link->read_at_us);
}

static bool is_of_this_epoch(const struct memory_cache *cache, const struct memory_link *link)
{
	return link->version > atomic_load_explicit(&cache->above, memory_order_relaxed);
}

static bool is_usable(const struct memory_cache *cache, const struct memory_link *link,
                      int64_t now_us)
{
	if (!is_of_this_epoch(cache, link))
		return false;
	if (link->read_at_us > now_us - memory_cache_ttl_us(cache))
		return true;
	return cache->watermark && watermark_tracker_is_fresh(cache->watermark, now_us) &&
	       is_tracked_now(cache, link);
}

static void copy_out(struct memory_link *link, struct link_entry *out)
{
	memory_link_record_hit(link);
	memory_link_unpack(link, out);
}

enum err memory_cache_get(struct memory_cache *cache, const char *slug, size_t slug_len,
                          int64_t now_us, struct link_entry *out)
{
	uint64_t hash = slug_hash(&cache->key, slug, slug_len);
	pthread_mutex_t *lock;
	struct memory_shard *shard = lock_shard(cache, hash, &lock);
	struct memory_link *link = memory_shard_find(shard, hash, slug, slug_len);
	enum err err = link && is_usable(cache, link, now_us) ? OK : ERR_NOT_FOUND;
	if (err == OK)
		copy_out(link, out);
	pthread_mutex_unlock(lock);
	return err;
}

enum err memory_cache_get_stale(struct memory_cache *cache, const char *slug, size_t slug_len,
                                struct link_entry *out)
{
	uint64_t hash = slug_hash(&cache->key, slug, slug_len);
	pthread_mutex_t *lock;
	struct memory_shard *shard = lock_shard(cache, hash, &lock);
	struct memory_link *link = memory_shard_find(shard, hash, slug, slug_len);
	enum err err = link && is_of_this_epoch(cache, link) ? OK : ERR_NOT_FOUND;
	if (err == OK)
		copy_out(link, out);
	pthread_mutex_unlock(lock);
	return err;
}

int64_t memory_cache_version(struct memory_cache *cache, const char *slug, size_t slug_len)
{
	uint64_t hash = slug_hash(&cache->key, slug, slug_len);
	pthread_mutex_t *lock;
	struct memory_shard *shard = lock_shard(cache, hash, &lock);
	struct memory_link *link = memory_shard_find(shard, hash, slug, slug_len);
	int64_t version = link ? link->version : 0;
	pthread_mutex_unlock(lock);
	return version;
}

/* Call it with the shard's lock held: an event recorded later then finds the new entry. */
static bool is_tracked_since(const struct memory_cache *cache, const char *slug, size_t slug_len,
                             int64_t read_at_us)
{
	return cache->watermark &&
	       watermark_tracker_is_continuous_since(cache->watermark, read_at_us) &&
	       recent_changes_none_since(cache->changes, slug, slug_len,
	                                 read_at_us - RECENT_CHANGES_LATE_FILL_US);
}

/*
 * A store returned the version that memory holds. If the feed had a gap since the old read, the new
 * read must be tracked by itself: it must not inherit the old entry's tracking.
 */
static void confirm(const struct memory_cache *cache, struct memory_link *link, int64_t read_at_us,
                    bool is_tracked)
{
	bool was_tracked = cache->watermark && is_tracked_now(cache, link);
	link->is_tracked = was_tracked || is_tracked;
	if (link->read_at_us < read_at_us)
		link->read_at_us = read_at_us;
}

void memory_cache_merge(struct memory_cache *cache, struct link_entry *entry, int64_t read_at_us)
{
	size_t slug_len = strlen(entry->slug);
	uint64_t hash = slug_hash(&cache->key, entry->slug, slug_len);
	pthread_mutex_t *lock;
	struct memory_shard *shard = lock_shard(cache, hash, &lock);
	struct memory_link *link = memory_shard_find(shard, hash, entry->slug, slug_len);
	if (!link || link->version < entry->version) {
		memory_shard_put(shard, hash, entry, read_at_us,
		                 is_tracked_since(cache, entry->slug, slug_len, read_at_us), link);
	} else if (link->version == entry->version) {
		memory_link_record_hit(link);
		confirm(cache, link, read_at_us,
		        is_tracked_since(cache, entry->slug, slug_len, read_at_us));
	} else {
		memory_link_unpack(link, entry);
	}
	pthread_mutex_unlock(lock);
}

/* read_at_us stays as it is: a feed that lags must not extend the life of an entry. */
void memory_cache_apply_change(struct memory_cache *cache, const struct link_entry *entry)
{
	size_t slug_len = strlen(entry->slug);
	uint64_t hash = slug_hash(&cache->key, entry->slug, slug_len);
	pthread_mutex_t *lock;
	struct memory_shard *shard = lock_shard(cache, hash, &lock);
	struct memory_link *link = memory_shard_find(shard, hash, entry->slug, slug_len);
	if (link && link->version < entry->version)
		memory_shard_put(shard, hash, entry, link->read_at_us, true, link);
	else if (link && link->version == entry->version)
		link->is_tracked = true;
	pthread_mutex_unlock(lock);
}

void memory_cache_remove(struct memory_cache *cache, const char *slug, size_t slug_len)
{
	uint64_t hash = slug_hash(&cache->key, slug, slug_len);
	pthread_mutex_t *lock;
	struct memory_shard *shard = lock_shard(cache, hash, &lock);
	struct memory_link *link = memory_shard_find(shard, hash, slug, slug_len);
	if (link)
		memory_shard_remove(shard, link);
	pthread_mutex_unlock(lock);
}

struct memory_shard_usage memory_cache_usage(struct memory_cache *cache)
{
	struct memory_shard_usage usage = { 0 };
	for (size_t i = 0; i < cache->shard_count; i++) {
		pthread_mutex_lock(&cache->shards[i].lock);
		struct memory_shard_usage part = memory_shard_usage(cache->shards[i].shard);
		usage.bytes += part.bytes;
		usage.entries += part.entries;
		usage.evictions += part.evictions;
		pthread_mutex_unlock(&cache->shards[i].lock);
	}
	return usage;
}
