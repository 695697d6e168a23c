#include "services/redirector/cache/memory_shard.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"

/* Sizes the table. Shorter URLs make chains longer, longer URLs leave some buckets empty. */
#define LINK_BYTES_EXPECTED 160
#define SMALL_QUEUE_PERCENT 10
/* Hits in the small queue that move a link to the main queue. */
#define HITS_TO_PROMOTE 2

enum { SMALL, MAIN, QUEUES };

struct queue {
	struct memory_link *oldest;
	struct memory_link *newest;
	size_t bytes;
};

struct memory_shard {
	const struct slug_hash_key *key;
	struct queue queues[QUEUES];
	/* Of the bytes in both queues. */
	size_t limit;
	size_t table_bytes;
	size_t entries;
	uint64_t evictions;
	uint64_t mask;
	struct memory_link **buckets;
	/* Fingerprints of links that recently left the small queue. */
	uint32_t *ghosts;
};

struct memory_shard *memory_shard_new(size_t bytes, const struct slug_hash_key *key)
{
	struct memory_shard *shard = mem_zero(sizeof(*shard));
	shard->key = key;
	size_t slots = 64;
	while (slots * 2 <= bytes / LINK_BYTES_EXPECTED)
		slots *= 2;
	shard->mask = slots - 1;
	shard->buckets = mem_array(slots, sizeof(struct memory_link *));
	shard->ghosts = mem_array(slots, sizeof(*shard->ghosts));
	shard->table_bytes =
		sizeof(*shard) + slots * (sizeof(struct memory_link *) + sizeof(*shard->ghosts));
	shard->limit = bytes - shard->table_bytes;
	return shard;
}

void memory_shard_free(struct memory_shard *shard)
{
	for (size_t i = 0; i < QUEUES; i++) {
		struct memory_link *link = shard->queues[i].oldest;
		while (link) {
			struct memory_link *newer = link->newer;
			free(link);
			link = newer;
		}
	}
	free(shard->buckets);
	free(shard->ghosts);
	free(shard);
}

struct memory_link *memory_shard_find(const struct memory_shard *shard, uint64_t hash,
                                      const char *slug, size_t slug_len)
{
	struct memory_link *link = shard->buckets[hash & shard->mask];
	while (link && (link->slug_len != slug_len || memcmp(link->text, slug, slug_len) != 0))
		link = link->chain;
	return link;
}

static void push(struct memory_shard *shard, struct memory_link *link, uint8_t to)
{
	struct queue *queue = &shard->queues[to];
	link->queue = to & 1;
	link->newer = NULL;
	link->older = queue->newest;
	if (queue->newest)
		queue->newest->newer = link;
	else
		queue->oldest = link;
	queue->newest = link;
	queue->bytes += memory_link_bytes(link);
}

static void unlink_from_queue(struct memory_shard *shard, struct memory_link *link)
{
	struct queue *queue = &shard->queues[link->queue];
	if (link->older)
		link->older->newer = link->newer;
	else
		queue->oldest = link->newer;
	if (link->newer)
		link->newer->older = link->older;
	else
		queue->newest = link->older;
	queue->bytes -= memory_link_bytes(link);
}

/* Recomputed when a link leaves, instead of stored with each link. */
static uint64_t hash_of(const struct memory_shard *shard, const struct memory_link *link)
{
	return slug_hash(shard->key, link->text, link->slug_len);
}

void memory_shard_remove(struct memory_shard *shard, struct memory_link *link)
{
	unlink_from_queue(shard, link);
	struct memory_link **place = &shard->buckets[hash_of(shard, link) & shard->mask];
	while (*place != link)
		place = &(*place)->chain;
	*place = link->chain;
	shard->entries--;
	free(link);
}

/* Bits that choose neither the bucket nor the shard. Never 0, which marks an empty slot. */
static uint32_t fingerprint(uint64_t hash)
{
	return (uint32_t)(hash >> 26) | 1;
}

/* True, once, for a link that recently left the small queue. */
static bool take_ghost(struct memory_shard *shard, uint64_t hash)
{
	uint32_t *ghost = &shard->ghosts[hash & shard->mask];
	if (*ghost != fingerprint(hash))
		return false;
	*ghost = 0;
	return true;
}

static void evict_from_small(struct memory_shard *shard)
{
	struct memory_link *link = shard->queues[SMALL].oldest;
	if (link->hits >= HITS_TO_PROMOTE) {
		unlink_from_queue(shard, link);
		push(shard, link, MAIN);
		return;
	}
	uint64_t hash = hash_of(shard, link);
	shard->ghosts[hash & shard->mask] = fingerprint(hash);
	shard->evictions++;
	memory_shard_remove(shard, link);
}

static void evict_from_main(struct memory_shard *shard)
{
	struct memory_link *link = shard->queues[MAIN].oldest;
	if (link->hits > 0) {
		link->hits = (uint8_t)(link->hits - 1) & MEMORY_LINK_HITS_MAX;
		unlink_from_queue(shard, link);
		push(shard, link, MAIN);
		return;
	}
	shard->evictions++;
	memory_shard_remove(shard, link);
}

static size_t used(const struct memory_shard *shard)
{
	return shard->queues[SMALL].bytes + shard->queues[MAIN].bytes;
}

/* Terminates: each step evicts or promotes a link, or uses up one of its hits. */
static void make_room(struct memory_shard *shard, size_t bytes)
{
	while (used(shard) > 0 && used(shard) + bytes > shard->limit) {
		bool is_small_full =
			shard->queues[SMALL].bytes > shard->limit / 100 * SMALL_QUEUE_PERCENT;
		if (shard->queues[SMALL].oldest && (is_small_full || !shard->queues[MAIN].oldest))
			evict_from_small(shard);
		else
			evict_from_main(shard);
	}
}

void memory_shard_put(struct memory_shard *shard, uint64_t hash, const struct link_entry *entry,
                      int64_t read_at_us, bool is_tracked, struct memory_link *old)
{
	struct memory_link *link = memory_link_pack(entry, read_at_us);
	link->is_tracked = is_tracked;
	uint8_t queue = take_ghost(shard, hash) ? MAIN : SMALL;
	if (old) {
		queue = old->queue;
		link->hits = old->hits;
		memory_shard_remove(shard, old);
	}
	make_room(shard, memory_link_bytes(link));
	push(shard, link, queue);
	link->chain = shard->buckets[hash & shard->mask];
	shard->buckets[hash & shard->mask] = link;
	shard->entries++;
}

struct memory_shard_usage memory_shard_usage(const struct memory_shard *shard)
{
	return (struct memory_shard_usage){ shard->table_bytes + used(shard), shard->entries,
		                            shard->evictions };
}
