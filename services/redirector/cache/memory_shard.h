/*
 * One thread at a time. One shard of a memory_cache: a hash table from slug to link, and the two
 * queues of S3-FIFO that choose which link to evict when the bytes are used up (memory_cache.h).
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_CACHE_MEMORY_SHARD_H
#define WAYMARK_SERVICES_REDIRECTOR_CACHE_MEMORY_SHARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "services/redirector/cache/memory_link.h"
#include "services/redirector/cache/slug_hash.h"

struct memory_shard;

/*
 * bytes: of everything including the tables; at least 64 KiB. key: borrowed; the hashes below are
 * slug_hash with it.
 */
struct memory_shard *memory_shard_new(size_t bytes, const struct slug_hash_key *key);
void memory_shard_free(struct memory_shard *shard);

/* NULL: not present. The link is borrowed until the next put. */
struct memory_link *memory_shard_find(const struct memory_shard *shard, uint64_t hash,
                                      const char *slug, size_t slug_len);

/* old: what memory_shard_find returned for the same slug; entry replaces it. NULL: none. */
void memory_shard_put(struct memory_shard *shard, uint64_t hash, const struct link_entry *entry,
                      int64_t read_at_us, bool is_tracked, struct memory_link *old);

void memory_shard_remove(struct memory_shard *shard, struct memory_link *link);

struct memory_shard_usage {
	size_t bytes;
	size_t entries;
	uint64_t evictions;
};

struct memory_shard_usage memory_shard_usage(const struct memory_shard *shard);

#endif
