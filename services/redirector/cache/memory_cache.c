/*
 * The cache is split into shards, each a hash table from slug to link and the two queues of S3-FIFO
 * that choose which link to evict.
 */
#include "services/redirector/cache/memory_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "lib/base/mem.h"
#include "services/redirector/cache/cached_link.h"
#include "services/redirector/cache/slug_hash.h"

/* Sizes the table. Shorter URLs make chains longer, longer URLs leave some buckets empty. */
#define LINK_BYTES_EXPECTED 160
#define SMALL_QUEUE_PERCENT 10
/* Hits in the small queue that move a link to the main queue. */
#define HITS_TO_PROMOTE 2
#define SHARDS_MAX 64
#define SHARD_BYTES_MIN ((size_t)1024 * 1024)

static void record_hit(struct cached_link *link)
{
	if (link->hits < CACHED_LINK_HITS_MAX)
		link->hits = (uint8_t)(link->hits + 1) & CACHED_LINK_HITS_MAX;
}

/* --- a shard --- */

enum { SMALL, MAIN, QUEUES };

struct queue {
	/* The oldest first. */
	TAILQ_HEAD(, cached_link) links;
	size_t bytes;
};

/* Loops that use different shards share no cache lines. The first one has what a hit needs. */
struct shard {
	pthread_mutex_t lock;
	uint64_t mask;
	struct cached_link **buckets;
	const struct slug_hash_key *key;
	struct queue queues[QUEUES];
	/* Of the bytes in both queues. */
	size_t limit;
	size_t table_bytes;
	size_t entries;
	uint64_t evictions;
	/* Fingerprints of links that recently left the small queue. */
	uint32_t *ghosts;
} __attribute__((aligned(64)));

static void shard_init(struct shard *shard, size_t bytes, const struct slug_hash_key *key)
{
	*shard = (struct shard){ .key = key };
	pthread_mutex_init(&shard->lock, NULL);
	for (size_t i = 0; i < QUEUES; i++)
		TAILQ_INIT(&shard->queues[i].links);
	size_t slots = 64;
	while (slots * 2 <= bytes / LINK_BYTES_EXPECTED)
		slots *= 2;
	shard->mask = slots - 1;
	shard->buckets = mem_array(slots, sizeof(struct cached_link *));
	shard->ghosts = mem_array(slots, sizeof(*shard->ghosts));
	shard->table_bytes =
		sizeof(*shard) + slots * (sizeof(struct cached_link *) + sizeof(*shard->ghosts));
	shard->limit = bytes - shard->table_bytes;
}

static void shard_clear(struct shard *shard)
{
	pthread_mutex_destroy(&shard->lock);
	for (size_t i = 0; i < QUEUES; i++) {
		struct cached_link *link;
		while ((link = TAILQ_FIRST(&shard->queues[i].links))) {
			TAILQ_REMOVE(&shard->queues[i].links, link, neighbours);
			cached_link_free(link);
		}
	}
	free(shard->buckets);
	free(shard->ghosts);
}

static struct cached_link *find(const struct shard *shard, uint64_t hash, const char *key,
                                size_t key_len)
{
	struct cached_link *link = shard->buckets[hash & shard->mask];
	/* Usually the first one is it, and with a million links its cache lines are all cold. */
	__builtin_prefetch(link ? link->text : NULL);
	while (link && (link->key_len != key_len || memcmp(link->text, key, key_len) != 0))
		link = link->chain;
	return link;
}

static void push(struct shard *shard, struct cached_link *link, uint8_t to)
{
	link->queue = to & 1;
	TAILQ_INSERT_TAIL(&shard->queues[to].links, link, neighbours);
	shard->queues[to].bytes += cached_link_bytes(link);
}

static void unlink_from_queue(struct shard *shard, struct cached_link *link)
{
	struct queue *queue = &shard->queues[link->queue];
	TAILQ_REMOVE(&queue->links, link, neighbours);
	queue->bytes -= cached_link_bytes(link);
}

/* The hash is computed again when a link leaves, instead of stored with each link. */
static void remove_link(struct shard *shard, struct cached_link *link)
{
	unlink_from_queue(shard, link);
	struct cached_link **place =
		&shard->buckets[slug_hash(shard->key, link->text, link->key_len) & shard->mask];
	while (*place != link)
		place = &(*place)->chain;
	*place = link->chain;
	shard->entries--;
	cached_link_free(link);
}

/* Bits that choose neither the bucket nor the shard. Never 0, which marks an empty slot. */
static uint32_t fingerprint(uint64_t hash)
{
	return (uint32_t)(hash >> 26) | 1;
}

/* True, once, for a link that recently left the small queue. */
static bool take_ghost(struct shard *shard, uint64_t hash)
{
	uint32_t *ghost = &shard->ghosts[hash & shard->mask];
	if (*ghost != fingerprint(hash))
		return false;
	*ghost = 0;
	return true;
}

static size_t used(const struct shard *shard)
{
	return shard->queues[SMALL].bytes + shard->queues[MAIN].bytes;
}

/* Evicts the oldest link of a queue, or moves it to the main one if it was requested again. */
static void evict(struct shard *shard)
{
	struct cached_link *small = TAILQ_FIRST(&shard->queues[SMALL].links);
	struct cached_link *oldest = TAILQ_FIRST(&shard->queues[MAIN].links);
	bool is_small_full = shard->queues[SMALL].bytes > shard->limit / 100 * SMALL_QUEUE_PERCENT;
	bool is_small = small && (is_small_full || !oldest);
	struct cached_link *link = is_small ? small : oldest;
	if (link->hits >= (is_small ? HITS_TO_PROMOTE : 1)) {
		link->hits = (uint8_t)(link->hits - !is_small) & CACHED_LINK_HITS_MAX;
		unlink_from_queue(shard, link);
		push(shard, link, MAIN);
		return;
	}
	uint64_t hash = slug_hash(shard->key, link->text, link->key_len);
	if (is_small)
		shard->ghosts[hash & shard->mask] = fingerprint(hash);
	shard->evictions++;
	remove_link(shard, link);
}

/* Terminates: each step evicts or promotes a link, or uses up one of its hits. */
static void make_room(struct shard *shard, size_t bytes)
{
	while (used(shard) > 0 && used(shard) + bytes > shard->limit)
		evict(shard);
}

/* --- the cache --- */

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
	struct shard *shards;
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
	for (size_t i = 0; i < cache->shard_count; i++)
		shard_init(&cache->shards[i], bytes / cache->shard_count, &cache->key);
	return cache;
}

void memory_cache_free(struct memory_cache *cache)
{
	if (!cache)
		return;
	for (size_t i = 0; i < cache->shard_count; i++)
		shard_clear(&cache->shards[i]);
	free(cache->shards);
	free(cache);
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

static bool is_tracked_now(const struct memory_cache *cache, const struct cached_link *link)
{
	return link->is_tracked &&
	       watermark_tracker_is_continuous_since(cache->watermark, link->read_at_us);
}

static bool is_of_this_epoch(const struct memory_cache *cache, const struct cached_link *link)
{
	return link->version > atomic_load_explicit(&cache->above, memory_order_relaxed);
}

static bool is_usable(const struct memory_cache *cache, const struct cached_link *link,
                      int64_t now_us)
{
	bool is_young = link->read_at_us > now_us - memory_cache_ttl_us(cache);
	return !link->lacks_extras && is_of_this_epoch(cache, link) &&
	       (is_young ||
	        (cache->watermark && watermark_tracker_is_fresh(cache->watermark, now_us) &&
	         is_tracked_now(cache, link)));
}

/* The place of a key, whose shard is locked. link NULL: not present. */
struct place {
	struct shard *shard;
	struct cached_link *link;
	uint64_t hash;
};

/* The upper bits of the hash choose the shard, the lower bits the bucket in it. */
static struct place acquire(struct memory_cache *cache, const char *key, size_t key_len)
{
	uint64_t hash = slug_hash(&cache->key, key, key_len);
	struct shard *shard = &cache->shards[(hash >> 58) & (cache->shard_count - 1)];
	pthread_mutex_lock(&shard->lock);
	return (struct place){ shard, find(shard, hash, key, key_len), hash };
}

/* Replaces the link of the place, if there is one. */
static void put(const struct place *place, const struct link_entry *entry, int64_t read_at_us,
                bool is_tracked)
{
	struct shard *shard = place->shard;
	struct cached_link *link = cached_link_pack(entry, read_at_us);
	link->is_tracked = is_tracked;
	uint8_t queue = take_ghost(shard, place->hash) ? MAIN : SMALL;
	if (place->link) {
		queue = place->link->queue;
		link->hits = place->link->hits;
		remove_link(shard, place->link);
	}
	make_room(shard, cached_link_bytes(link));
	push(shard, link, queue);
	link->chain = shard->buckets[place->hash & shard->mask];
	shard->buckets[place->hash & shard->mask] = link;
	shard->entries++;
}

enum err memory_cache_get(struct memory_cache *cache, const char *key, size_t key_len,
                          int64_t now_us, struct link_entry *out)
{
	struct place place = acquire(cache, key, key_len);
	bool answers = place.link && is_usable(cache, place.link, now_us);
	if (answers) {
		record_hit(place.link);
		cached_link_unpack(place.link, out);
	}
	pthread_mutex_unlock(&place.shard->lock);
	return answers ? OK : ERR_NOT_FOUND;
}

/* At this time all are young. */
enum err memory_cache_get_stale(struct memory_cache *cache, const char *key, size_t key_len,
                                struct link_entry *out)
{
	return memory_cache_get(cache, key, key_len, 0, out);
}

int64_t memory_cache_version(struct memory_cache *cache, const char *key, size_t key_len)
{
	struct place place = acquire(cache, key, key_len);
	int64_t version = place.link ? place.link->version : 0;
	pthread_mutex_unlock(&place.shard->lock);
	return version;
}

/* Call it with the shard's lock held: an event recorded later then finds the new entry. */
static bool is_tracked_since(const struct memory_cache *cache, const char *key, size_t key_len,
                             int64_t read_at_us)
{
	return cache->watermark &&
	       watermark_tracker_is_continuous_since(cache->watermark, read_at_us) &&
	       recent_changes_none_since(cache->changes, key, key_len,
	                                 read_at_us - RECENT_CHANGES_LATE_FILL_US);
}

/*
 * A store returned the version that memory holds, perhaps without the extras that entry has. If the
 * feed had a gap since the old read, the new read must be tracked by itself: it must not inherit the
 * old entry's tracking.
 */
static void confirm(const struct memory_cache *cache, const struct place *place,
                    const struct link_entry *entry, int64_t read_at_us, bool is_tracked)
{
	struct cached_link *link = place->link;
	bool was_tracked = cache->watermark && is_tracked_now(cache, link);
	record_hit(link);
	link->is_tracked = was_tracked || is_tracked;
	if (link->read_at_us < read_at_us)
		link->read_at_us = read_at_us;
	if (link->lacks_extras)
		put(place, entry, link->read_at_us, link->is_tracked);
}

void memory_cache_merge(struct memory_cache *cache, struct link_entry *entry, int64_t read_at_us)
{
	char key[SLUG_KEY_SIZE];
	size_t key_len = link_key(entry, key);
	struct place place = acquire(cache, key, key_len);
	int64_t version = place.link ? place.link->version : 0;
	bool is_tracked =
		version <= entry->version && is_tracked_since(cache, key, key_len, read_at_us);
	if (!place.link || version < entry->version) {
		put(&place, entry, read_at_us, is_tracked);
	} else if (version == entry->version) {
		confirm(cache, &place, entry, read_at_us, is_tracked);
	} else {
		cached_link_unpack(place.link, entry);
	}
	pthread_mutex_unlock(&place.shard->lock);
}

void memory_cache_set_purged(struct memory_cache *cache, const char *key, size_t key_len,
                             int64_t read_at_us)
{
	struct link_entry entry;
	struct place place = acquire(cache, key, key_len);
	if (place.link) {
		cached_link_unpack(place.link, &entry);
		entry.state = LINK_STATE_DELETED;
		entry.version++;
		entry.lacks_extras = false;
		entry.extras_len = 0;
		put(&place, &entry, read_at_us, is_tracked_since(cache, key, key_len, read_at_us));
	}
	pthread_mutex_unlock(&place.shard->lock);
}

/* read_at_us stays as it is: a feed that lags must not extend the life of an entry. */
void memory_cache_apply_change(struct memory_cache *cache, const struct link_entry *entry)
{
	char key[SLUG_KEY_SIZE];
	size_t key_len = link_key(entry, key);
	struct place place = acquire(cache, key, key_len);
	if (place.link && place.link->version < entry->version)
		put(&place, entry, place.link->read_at_us, true);
	else if (place.link && place.link->version == entry->version)
		place.link->is_tracked = true;
	pthread_mutex_unlock(&place.shard->lock);
}

void memory_cache_remove(struct memory_cache *cache, const char *key, size_t key_len)
{
	struct place place = acquire(cache, key, key_len);
	if (place.link)
		remove_link(place.shard, place.link);
	pthread_mutex_unlock(&place.shard->lock);
}

struct memory_cache_usage memory_cache_usage(struct memory_cache *cache)
{
	struct memory_cache_usage usage = { 0 };
	for (size_t i = 0; i < cache->shard_count; i++) {
		struct shard *shard = &cache->shards[i];
		pthread_mutex_lock(&shard->lock);
		usage.bytes += shard->table_bytes + used(shard);
		usage.entries += shard->entries;
		usage.evictions += shard->evictions;
		pthread_mutex_unlock(&shard->lock);
	}
	return usage;
}

static double memory_bytes(void *ctx)
{
	return (double)memory_cache_usage(ctx).bytes;
}

static double memory_evictions(void *ctx)
{
	return (double)memory_cache_usage(ctx).evictions;
}

void memory_cache_measure(struct memory_cache *cache, struct metrics *metrics)
{
	metrics_gauge_callback(metrics, "waymark_memory_cache_bytes", "Memory of cached links.",
	                       NULL, memory_bytes, cache);
	metrics_counter_callback(metrics, "waymark_memory_cache_evictions_total",
	                         "Links evicted from memory.", NULL, memory_evictions, cache);
}
