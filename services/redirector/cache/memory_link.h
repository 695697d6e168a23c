/*
 * One thread at a time. A link as memory_cache stores it: one block, as long as its texts need. A
 * start takes room only if there is one. A memory_shard owns the block and its pointers.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_CACHE_MEMORY_LINK_H
#define WAYMARK_SERVICES_REDIRECTOR_CACHE_MEMORY_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "lib/links/link.h"

#define MEMORY_LINK_HITS_MAX 3

struct memory_link {
	/* The next in its bucket. */
	struct memory_link *chain;
	/* Its neighbours in its queue. */
	struct memory_link *older;
	struct memory_link *newer;
	/* Steady; when it was read from a store. */
	int64_t read_at_us;
	int64_t id;
	int64_t version;
	int64_t expires_at_us;
	uint16_t original_len;
	uint16_t expired_len;
	uint16_t redirect_status;
	uint8_t state;
	uint8_t slug_len;
	/* Since the queue last considered it; at most MEMORY_LINK_HITS_MAX. */
	uint8_t hits : 2;
	uint8_t queue : 1;
	/* The feed cannot have missed an event of it since read_at_us (memory_cache.h). */
	uint8_t is_tracked : 1;
	uint8_t has_start : 1;
	/* Slug, original_url, expired_url, without NULs; the bytes of a start. */
	char text[];
};

/* Release it with free(). */
struct memory_link *memory_link_pack(const struct link_entry *entry, int64_t read_at_us);
void memory_link_unpack(const struct memory_link *link, struct link_entry *out);

/* What the block takes from the heap, including the allocator's overhead. */
size_t memory_link_bytes(const struct memory_link *link);

static inline void memory_link_record_hit(struct memory_link *link)
{
	if (link->hits < MEMORY_LINK_HITS_MAX)
		link->hits = (uint8_t)(link->hits + 1) & MEMORY_LINK_HITS_MAX;
}

#endif
