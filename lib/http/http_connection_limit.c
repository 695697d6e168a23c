#include "lib/http/http_connection_limit.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"

/* An open-addressing table that is at most half full: each connection takes at most one slot. */
struct slot {
	uint8_t key[16];
	uint32_t count; /* 0 = free */
};

struct http_connection_limit {
	pthread_mutex_t lock;
	size_t connections, ceiling;
	size_t per_ip;
	const struct client_ip_ranges *trusted;
	uint64_t seed;
	size_t mask;
	struct slot *slots;
};

/*
 * Connections above the ceiling: evicted ones that are not closed yet, and one for each loop that
 * passes the ceiling at the same moment. The table has room for both.
 */
#define EVICTED_MAX 64
#define SLACK (EVICTED_MAX + 64)

struct http_connection_limit *http_connection_limit_new(size_t connections, size_t per_ip,
                                                        const struct client_ip_ranges *trusted)
{
	struct http_connection_limit *limit = mem_zero(sizeof(*limit));
	pthread_mutex_init(&limit->lock, NULL);
	limit->ceiling = connections;
	limit->per_ip = per_ip;
	limit->trusted = trusted;
	entropy_fill(&limit->seed, sizeof(limit->seed));
	size_t room = 64;
	while (room < 2 * (connections + SLACK))
		room *= 2;
	limit->mask = room - 1;
	limit->slots = mem_array(room, sizeof(*limit->slots));
	return limit;
}

void http_connection_limit_free(struct http_connection_limit *limit)
{
	if (limit == NULL)
		return;
	pthread_mutex_destroy(&limit->lock);
	free(limit->slots);
	free(limit);
}

static void key_of(const struct client_ip *peer, uint8_t key[static 16])
{
	static const uint8_t v4_mapped[12] = { [10] = 0xff, [11] = 0xff };
	memcpy(key, peer->bytes, 16);
	if (memcmp(key, v4_mapped, sizeof(v4_mapped)) != 0)
		memset(key + 8, 0, 8);
}

static size_t home_of(const struct http_connection_limit *limit, const uint8_t key[static 16])
{
	uint64_t halves[2];
	memcpy(halves, key, sizeof(halves));
	uint64_t h = (halves[0] ^ limit->seed) * UINT64_C(0x9e3779b97f4a7c15);
	h = (h ^ (h >> 29) ^ halves[1]) * UINT64_C(0xbf58476d1ce4e5b9);
	return (size_t)(h ^ (h >> 32)) & limit->mask;
}

/* The slot of key, or the free slot where it belongs. */
static size_t find(const struct http_connection_limit *limit, const uint8_t key[static 16])
{
	size_t at = home_of(limit, key);
	while (limit->slots[at].count > 0 && memcmp(limit->slots[at].key, key, 16) != 0)
		at = (at + 1) & limit->mask;
	return at;
}

/* Frees a slot and moves displaced entries back, so searches need no tombstones. */
static void remove_at(struct http_connection_limit *limit, size_t hole)
{
	for (size_t at = (hole + 1) & limit->mask; limit->slots[at].count > 0;
	     at = (at + 1) & limit->mask) {
		size_t home = home_of(limit, limit->slots[at].key);
		if (((at - home) & limit->mask) >= ((at - hole) & limit->mask)) {
			limit->slots[hole] = limit->slots[at];
			hole = at;
		}
	}
	limit->slots[hole].count = 0;
}

static bool is_counted(const struct http_connection_limit *limit, const struct client_ip *peer)
{
	return limit->per_ip > 0 && peer->known && !client_ip_ranges_contain(limit->trusted, peer);
}

enum http_connection_decision http_connection_limit_decide(struct http_connection_limit *limit,
                                                           const struct client_ip *peer)
{
	enum http_connection_decision decision = HTTP_CONNECTION_ALLOWED;
	uint8_t key[16];
	key_of(peer, key);
	pthread_mutex_lock(&limit->lock);
	if (limit->connections >= limit->ceiling)
		decision = HTTP_CONNECTION_NEEDS_ROOM;
	if (limit->connections >= limit->ceiling + EVICTED_MAX ||
	    (is_counted(limit, peer) && limit->slots[find(limit, key)].count >= limit->per_ip))
		decision = HTTP_CONNECTION_REFUSED;
	pthread_mutex_unlock(&limit->lock);
	return decision;
}

void http_connection_limit_opened(struct http_connection_limit *limit, const struct client_ip *peer)
{
	uint8_t key[16];
	key_of(peer, key);
	pthread_mutex_lock(&limit->lock);
	limit->connections++;
	if (is_counted(limit, peer)) {
		struct slot *slot = &limit->slots[find(limit, key)];
		memcpy(slot->key, key, sizeof(key));
		slot->count++;
	}
	pthread_mutex_unlock(&limit->lock);
}

void http_connection_limit_closed(struct http_connection_limit *limit, const struct client_ip *peer)
{
	uint8_t key[16];
	key_of(peer, key);
	pthread_mutex_lock(&limit->lock);
	limit->connections--;
	if (is_counted(limit, peer)) {
		size_t at = find(limit, key);
		if (limit->slots[at].count > 1)
			limit->slots[at].count--;
		else
			remove_at(limit, at);
	}
	pthread_mutex_unlock(&limit->lock);
}
