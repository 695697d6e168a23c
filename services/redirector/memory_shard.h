/*
 * One thread at a time. One shard of a memory_cache: a table from slug to link, and the two queues of S3-FIFO that
 * decide which link leaves when the bytes are used up (see memory_cache.h).
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_MEMORY_SHARD_H
#define WAYMARK_SERVICES_REDIRECTOR_MEMORY_SHARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "services/redirector/memory_link.h"
#include "services/redirector/slug_hash.h"

struct memory_shard;

/* bytes: of everything, the tables included; at least 64 KiB. key: borrowed; hashes below are slug_hash's with it. */
struct memory_shard *memory_shard_new(size_t bytes, const struct slug_hash_key *key);
void memory_shard_free(struct memory_shard *shard);

/* NULL: not here. The link is borrowed until the next put. */
struct memory_link *memory_shard_find(const struct memory_shard *shard, uint64_t hash, const char *slug,
                                      size_t slug_len);

/* old: the link of the same slug, if memory_shard_find gave one; entry takes its place, else NULL. */
void memory_shard_put(struct memory_shard *shard, uint64_t hash, const struct link_entry *entry, int64_t read_at_us,
                      bool is_covered, struct memory_link *old);

void memory_shard_drop(struct memory_shard *shard, struct memory_link *link);

struct memory_shard_usage {
	size_t bytes;
	size_t entries;
	uint64_t evictions;
};

struct memory_shard_usage memory_shard_usage(const struct memory_shard *shard);

#endif
