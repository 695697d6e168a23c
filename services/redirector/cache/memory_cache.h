/*
 * Safe from any thread. Links in the memory of this process, by the keys of their slugs
 * (lib/links/slug.h), bounded by bytes. Each link is packed into one block of about 90 bytes plus its
 * URLs; extras, and the slug that an alias leads to, are a second block. An entry that is no longer
 * fresh only remembers its version, so that an older version that arrives late is recognised. So does
 * one that lacks its extras, which the feed does not bring: it never answers, however old anything
 * else is.
 *
 * Eviction is S3-FIFO (Yang, Zhang, Qiu, Yue, Rashmi: "FIFO queues are all you need for cache
 * eviction", SOSP 2023). New links enter a small queue; links that were requested again are in a
 * main queue. A ghost table has the hashes that recently left the small queue. A scan of a million
 * slugs passes through the small queue and displaces nothing in the main one. A hit only raises a
 * two-bit counter, where LRU would move the entry and hold the lock longer.
 *
 * An entry is fresh
 *   - until its time to live after it was read from a store has passed, or
 *   - while the feed of link events is fresh (watermark_tracker.h), if the entry is tracked.
 *
 * An entry is tracked if the feed has been continuous since it was read, and no event of its bucket
 * (recent_changes.h) came between RECENT_CHANGES_LATE_FILL_US before the read and its insertion
 * here. Later events replace the entry.
 *
 * The table is split into shards, each with its own lock, held while one entry is copied.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_CACHE_MEMORY_CACHE_H
#define WAYMARK_SERVICES_REDIRECTOR_CACHE_MEMORY_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/metrics.h"
#include "lib/links/link.h"
#include "services/redirector/cache/recent_changes.h"
#include "services/redirector/cache/watermark_tracker.h"

struct memory_cache;

/* bytes: the ceiling of everything that the cache allocates; at least 1 MiB. */
struct memory_cache *memory_cache_new(size_t bytes, int64_t ttl_us);
void memory_cache_free(struct memory_cache *cache);

/* Call it first: from now on tracked entries are fresh while the feed is. Both are borrowed. */
void memory_cache_use_feed(struct memory_cache *cache, const struct watermark_tracker *watermark,
                           const struct recent_changes *changes);

/* The time to live of entries that are not tracked, or while the feed is not fresh. */
void memory_cache_set_ttl(struct memory_cache *cache, int64_t ttl_us);
int64_t memory_cache_ttl_us(const struct memory_cache *cache);

/* Times are steady. ERR_NOT_FOUND: no fresh entry. Sets only what the entry uses. */
enum err memory_cache_get(struct memory_cache *cache, const char *key, size_t key_len,
                          int64_t now_us, struct link_entry *out) MUST_CHECK;

/* Ignores freshness: for when no store can answer. ERR_NOT_FOUND: no entry with its extras. */
enum err memory_cache_get_stale(struct memory_cache *cache, const char *key, size_t key_len,
                                struct link_entry *out) MUST_CHECK;

/* The version held, fresh or not; 0: none. */
int64_t memory_cache_version(struct memory_cache *cache, const char *key, size_t key_len);

/*
 * Stores what a store returned. read_at_us is when the store was queried; freshness counts from
 * there. If memory already holds a newer version, that version stays and is copied into entry; it may
 * lack its extras.
 */
void memory_cache_merge(struct memory_cache *cache, struct link_entry *entry, int64_t read_at_us);

/*
 * PostgreSQL, queried at read_at_us, no longer has this link: if memory holds it, it is DELETED from
 * now on, at the next version.
 */
void memory_cache_set_purged(struct memory_cache *cache, const char *key, size_t key_len,
                             int64_t read_at_us);

/* An event of the feed, after recent_changes_add. Replaces an older version; adds nothing. */
void memory_cache_apply_change(struct memory_cache *cache, const struct link_entry *entry);
/* Removes a link whose event could not be decoded. */
void memory_cache_remove(struct memory_cache *cache, const char *key, size_t key_len);

/*
 * From now on no entry answers whose version is not above this one. It only rises. The versions of
 * such entries are remembered as before.
 */
void memory_cache_require_above(struct memory_cache *cache, int64_t version);

struct memory_cache_usage {
	size_t bytes;
	size_t entries;
	uint64_t evictions;
};

/* The sum of all shards. */
struct memory_cache_usage memory_cache_usage(struct memory_cache *cache);
/* Its gauge and its counter. The cache must outlive metrics' last use. */
void memory_cache_measure(struct memory_cache *cache, struct metrics *metrics);

#endif
