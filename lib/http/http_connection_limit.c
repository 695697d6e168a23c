#include "lib/http/http_connection_limit.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash_table.h"
#include "lib/base/mem.h"

/* An address, or the /64 of an IPv6 address, that has a connection. */
struct peer {
	uint8_t key[16];
	size_t count;
	UT_hash_handle hh;
};

struct http_connection_limit {
	pthread_mutex_t lock;
	size_t connections, ceiling;
	size_t per_ip;
	const struct client_ip_ranges *trusted;
	struct peer *peers;
};

/* Connections above the ceiling: evicted ones that are not closed yet. */
#define EVICTED_MAX 64

struct http_connection_limit *http_connection_limit_new(size_t connections, size_t per_ip,
                                                        const struct client_ip_ranges *trusted)
{
	struct http_connection_limit *limit = mem_zero(sizeof(*limit));
	pthread_mutex_init(&limit->lock, NULL);
	limit->ceiling = connections;
	limit->per_ip = per_ip;
	limit->trusted = trusted;
	return limit;
}

void http_connection_limit_free(struct http_connection_limit *limit)
{
	if (limit == NULL)
		return;
	pthread_mutex_destroy(&limit->lock);
	struct peer *peer, *next;
	HASH_ITER(hh, limit->peers, peer, next) {
		HASH_DEL(limit->peers, peer);
		free(peer);
	}
	free(limit);
}

static void key_of(const struct client_ip *peer, uint8_t key[static 16])
{
	static const uint8_t v4_mapped[12] = { [10] = 0xff, [11] = 0xff };
	memcpy(key, peer->bytes, 16);
	if (memcmp(key, v4_mapped, sizeof(v4_mapped)) != 0)
		memset(key + 8, 0, 8);
}

static struct peer *find(const struct http_connection_limit *limit, const uint8_t key[static 16])
{
	struct peer *peer;
	HASH_FIND(hh, limit->peers, key, sizeof(peer->key), peer);
	return peer;
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
	const struct peer *known = is_counted(limit, peer) ? find(limit, key) : NULL;
	if (limit->connections >= limit->ceiling + EVICTED_MAX ||
	    (known && known->count >= limit->per_ip))
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
		struct peer *known = find(limit, key);
		if (!known) {
			known = mem_zero(sizeof(*known));
			memcpy(known->key, key, sizeof(key));
			HASH_ADD(hh, limit->peers, key, sizeof(key), known);
		}
		known->count++;
	}
	pthread_mutex_unlock(&limit->lock);
}

void http_connection_limit_closed(struct http_connection_limit *limit, const struct client_ip *peer)
{
	uint8_t key[16];
	key_of(peer, key);
	pthread_mutex_lock(&limit->lock);
	limit->connections--;
	struct peer *known = is_counted(limit, peer) ? find(limit, key) : NULL;
	if (known && --known->count == 0) {
		HASH_DEL(limit->peers, known);
		free(known);
	}
	pthread_mutex_unlock(&limit->lock);
}
