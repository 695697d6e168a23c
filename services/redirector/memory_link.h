/*
 * One thread at a time. A link as memory_cache keeps it: one block, as long as its texts need. Belongs to a
 * memory_shard, which owns the pointers.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_MEMORY_LINK_H
#define WAYMARK_SERVICES_REDIRECTOR_MEMORY_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "lib/links/link.h"

#define MEMORY_LINK_ASKED_MAX 3

struct memory_link {
	struct memory_link *chain; /* the next of its bucket */
	struct memory_link *older; /* its neighbours in its queue */
	struct memory_link *newer;
	int64_t read_at_us; /* steady: when a store said so */
	int64_t id;
	int64_t version;
	int64_t expires_at_us;
	uint16_t original_len;
	uint16_t expired_len;
	uint16_t redirect_status;
	uint8_t state;
	uint8_t slug_len;
	uint8_t asked : 2; /* how often since it was last weighed, up to MEMORY_LINK_ASKED_MAX */
	uint8_t queue : 1;
	uint8_t is_covered : 1; /* no event of it can have come unseen since read_at_us (see memory_cache.h) */
	char text[];            /* slug, original_url, expired_url, without NULs */
};

/* Release with free(). */
struct memory_link *memory_link_pack(const struct link_entry *entry, int64_t read_at_us);
void memory_link_unpack(const struct memory_link *link, struct link_entry *out);

/* What the block takes from the heap, the allocator's own bytes included. */
size_t memory_link_bytes(const struct memory_link *link);

static inline void memory_link_touch(struct memory_link *link)
{
	if (link->asked < MEMORY_LINK_ASKED_MAX)
		link->asked = (uint8_t)(link->asked + 1) & MEMORY_LINK_ASKED_MAX;
}

#endif
