#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash_table.h"
#include "lib/http/http_internal.h"

/* Connections above the ceiling: evicted ones that are not closed yet. */
#define EVICTED_MAX 64
#define BODY_SHARE 4
#define KEY_BYTES 16

/* An address, the /64 of an IPv6 address, or a flow; and what it has of the total. */
struct http_share {
	uint8_t key[KEY_BYTES];
	size_t used;
	UT_hash_handle hh;
};

void http_limit_init(struct http_shared *shared)
{
	pthread_mutex_init(&shared->connections.lock, NULL);
	pthread_mutex_init(&shared->bodies.lock, NULL);
}

static void drop(struct http_limit *limit, struct http_share *share)
{
	HASH_DEL(limit->shares, share);
	free(share);
}

static void clear(struct http_limit *limit)
{
	while (limit->shares)
		drop(limit, limit->shares);
	pthread_mutex_destroy(&limit->lock);
}

void http_limit_clear(struct http_shared *shared)
{
	clear(&shared->connections);
	clear(&shared->bodies);
}

static struct http_share *find(const struct http_limit *limit, const uint8_t key[static KEY_BYTES])
{
	struct http_share *share;
	HASH_FIND(hh, limit->shares, key, KEY_BYTES, share);
	return share;
}

static size_t used_by(const struct http_limit *limit, const uint8_t key[static KEY_BYTES])
{
	const struct http_share *share = find(limit, key);
	return share ? share->used : 0;
}

static void change_share(struct http_limit *limit, const uint8_t key[static KEY_BYTES],
                         ptrdiff_t by)
{
	struct http_share *share = find(limit, key);
	if (!share) {
		share = mem_zero(sizeof(*share));
		memcpy(share->key, key, KEY_BYTES);
		HASH_ADD(hh, limit->shares, key, KEY_BYTES, share);
	}
	share->used += (size_t)by;
	if (share->used == 0)
		drop(limit, share);
}

/* --- connections --- */

static void key_of_peer(const struct client_ip *peer, uint8_t key[static KEY_BYTES])
{
	static const uint8_t v4_mapped[12] = { [10] = 0xff, [11] = 0xff };
	memcpy(key, peer->bytes, KEY_BYTES);
	if (memcmp(key, v4_mapped, sizeof(v4_mapped)) != 0)
		memset(key + 8, 0, 8);
}

static bool has_share(const struct http_shared *shared, const struct client_ip *peer)
{
	return shared->config.connections_per_ip > 0 && peer->known &&
	       !client_ip_ranges_contain(shared->config.trusted, peer);
}

enum http_limit_decision http_limit_decide(struct http_shared *shared, const struct client_ip *peer)
{
	struct http_limit *limit = &shared->connections;
	enum http_limit_decision decision = HTTP_LIMIT_ALLOWED;
	uint8_t key[KEY_BYTES];
	key_of_peer(peer, key);
	pthread_mutex_lock(&limit->lock);
	if (limit->used >= shared->config.connections)
		decision = HTTP_LIMIT_NEEDS_ROOM;
	if (limit->used >= shared->config.connections + EVICTED_MAX ||
	    (has_share(shared, peer) && used_by(limit, key) >= shared->config.connections_per_ip))
		decision = HTTP_LIMIT_REFUSED;
	pthread_mutex_unlock(&limit->lock);
	return decision;
}

void http_limit_count(struct http_shared *shared, const struct client_ip *peer, int by)
{
	struct http_limit *limit = &shared->connections;
	uint8_t key[KEY_BYTES];
	key_of_peer(peer, key);
	pthread_mutex_lock(&limit->lock);
	limit->used += (size_t)by;
	if (has_share(shared, peer))
		change_share(limit, key, by);
	pthread_mutex_unlock(&limit->lock);
}

/* --- memory of bodies --- */

bool http_limit_reserve_body(struct http_shared *shared, uint64_t flow, size_t bytes)
{
	struct http_limit *limit = &shared->bodies;
	size_t most = shared->config.bodies_bytes_max;
	if (most == 0 || bytes == 0)
		return true;
	size_t most_of_flow = flow == 0 ? most : most / BODY_SHARE;
	uint8_t key[KEY_BYTES] = { 0 };
	memcpy(key, &flow, sizeof(flow));
	pthread_mutex_lock(&limit->lock);
	size_t of_flow = used_by(limit, key);
	bool fits = bytes <= most - limit->used && of_flow <= most_of_flow &&
	            bytes <= most_of_flow - of_flow;
	if (fits) {
		limit->used += bytes;
		change_share(limit, key, (ptrdiff_t)bytes);
	}
	pthread_mutex_unlock(&limit->lock);
	return fits;
}

void http_limit_release_body(struct http_shared *shared, uint64_t flow, size_t bytes)
{
	struct http_limit *limit = &shared->bodies;
	if (shared->config.bodies_bytes_max == 0 || bytes == 0)
		return;
	uint8_t key[KEY_BYTES] = { 0 };
	memcpy(key, &flow, sizeof(flow));
	pthread_mutex_lock(&limit->lock);
	limit->used -= bytes;
	change_share(limit, key, -(ptrdiff_t)bytes);
	pthread_mutex_unlock(&limit->lock);
}
