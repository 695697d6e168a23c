/*
 * A link as memory_cache.c keeps it: one block, as long as its texts need. A start, and a pointer to
 * the block of what plain links do not have, take room only if there is one. Not thread-safe.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_CACHE_CACHED_LINK_H
#define WAYMARK_SERVICES_REDIRECTOR_CACHE_CACHED_LINK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "lib/links/link.h"

#define CACHED_LINK_HITS_MAX 3

struct cached_link {
	/* The next in its bucket. */
	struct cached_link *chain;
	TAILQ_ENTRY(cached_link) neighbours;
	/* Steady; when it was read from a store. */
	int64_t read_at_us;
	int64_t id;
	int64_t version;
	int64_t expires_at_us;
	uint16_t original_len;
	uint16_t expired_len;
	uint16_t redirect_status;
	uint8_t state : 4;
	uint8_t is_blocked : 1;
	/* Then only its version counts, and it has no URLs. */
	uint8_t lacks_extras : 1;
	uint8_t has_apart : 1;
	uint8_t key_len;
	/* Since the queue last considered it; at most CACHED_LINK_HITS_MAX. */
	uint8_t hits : 2;
	uint8_t queue : 1;
	/* The feed cannot have missed an event of it since read_at_us (memory_cache.h). */
	uint8_t is_tracked : 1;
	uint8_t has_start : 1;
	uint8_t is_slug_chosen : 1;
	uint8_t is_slug_exact : 1;
	/* The slug has upper case, which its key has not. */
	uint8_t has_slug : 1;
	/* Key, slug, original_url, expired_url, without NULs; the bytes of a start and of a pointer. */
	char text[];
};

/* Free it with cached_link_free. */
struct cached_link *cached_link_pack(const struct link_entry *entry, int64_t read_at_us);
/* Sets only what the entry uses. */
void cached_link_unpack(const struct cached_link *link, struct link_entry *out);
void cached_link_free(struct cached_link *link);

/* Of the allocator, for both blocks. */
size_t cached_link_bytes(const struct cached_link *link);

#endif
