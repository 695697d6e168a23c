/*
 * Safe from any thread. Links in this process' memory: bounded by bytes, each packed into one block (about 90 bytes and
 * its URLs). An entry answers while it is fresh; after that it only knows its version, so that an older one that comes
 * late is seen through.
 *
 * What stays is decided by S3-FIFO (Yang, Zhang, Qiu, Yue, Rashmi: "FIFO queues are all you need for cache eviction",
 * SOSP 2023): a small queue for newcomers, a main queue for what was asked again, and the hashes of what left the small
 * queue lately. A scan of a million slugs that are asked once passes through the small queue and displaces nothing of
 * the main one; and a hit only raises a two-bit counter, where LRU would move the entry under a lock held for longer.
 *
 * An entry is answered from here
 *   - for the time to live after it was read, or
 *   - while the feed of changes is fresh, if it is covered: it was read while the feed covered, and no event of its bucket
 *     (change_clock.h) came from CHANGE_CLOCK_SETTLE_US before the reading until it was put in here. Later events replace it.
 *
 * The table is cut into shards, each with its own lock, held for the time of copying one entry.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_MEMORY_CACHE_H
#define WAYMARK_SERVICES_REDIRECTOR_MEMORY_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/links/link.h"
#include "services/redirector/change_clock.h"
#include "services/redirector/feed_progress.h"
#include "services/redirector/memory_shard.h"

struct memory_cache;

/* bytes: the ceiling of everything that the cache allocates, at least 1 MiB. */
struct memory_cache *memory_cache_new(size_t bytes, int64_t ttl_us);
void memory_cache_free(struct memory_cache *cache);

/* Before any other call: entries live by the feed, too. Both are borrowed. */
void memory_cache_follow(struct memory_cache *cache, const struct feed_progress *progress,
                         const struct change_clock *changes);

/* From now on entries that the feed does not keep live so long. */
void memory_cache_set_ttl(struct memory_cache *cache, int64_t ttl_us);
int64_t memory_cache_ttl_us(const struct memory_cache *cache);

/*
 * Times are steady. ERR_NOT_FOUND: nothing that is fresh. Copies only what the entry uses: the rest of out is not set.
 */
enum err memory_cache_get(struct memory_cache *cache, const char *slug, size_t slug_len, int64_t now_us,
                          struct link_entry *out) MUST_CHECK;

/* However old it is: for when no store can tell. */
enum err memory_cache_get_stale(struct memory_cache *cache, const char *slug, size_t slug_len,
                                struct link_entry *out) MUST_CHECK;

/* The version held, fresh or not; 0 if none. */
int64_t memory_cache_version(struct memory_cache *cache, const char *slug, size_t slug_len);

/*
 * Puts in what a store told: read_at_us is when it was asked, from where freshness counts. If a newer version is held
 * already, that one stays as it is, and entry becomes it.
 */
void memory_cache_merge(struct memory_cache *cache, struct link_entry *entry, int64_t read_at_us);

/* An event of the feed, after change_clock_change: replaces an older version that is held, and adds nothing. */
void memory_cache_apply(struct memory_cache *cache, const struct link_entry *entry);
/* Something has happened to this link, nobody knows what. */
void memory_cache_drop(struct memory_cache *cache, const char *slug, size_t slug_len);

/* The sum of all shards. */
struct memory_shard_usage memory_cache_usage(struct memory_cache *cache);

#endif
