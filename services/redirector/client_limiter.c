#include "services/redirector/client_limiter.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "services/redirector/cache/slug_hash.h"

#define WINDOW_US (60 * CLOCK_US_PER_S)
#define SETS 4096
#define WAYS 4
#define NETWORKS_MAX 2
#define SITE_FACTOR 4 /* what an IPv6 /48 may do more than a /64 */

struct client {
	uint64_t hash; /* a keyed hash; 0: empty */
	int64_t window_us;
	int64_t misses;
};

/* What an address counts as. */
struct network {
	uint64_t hash;
	int64_t limit; /* per minute */
};

struct client_limiter {
	int64_t per_minute;
	struct slug_hash_key key;
	pthread_mutex_t lock;
	struct client clients[SETS][WAYS];
};

struct client_limiter *client_limiter_new(int64_t per_minute)
{
	struct client_limiter *limiter = mem_zero(sizeof(*limiter));
	limiter->per_minute = per_minute;
	slug_hash_key_generate(&limiter->key);
	pthread_mutex_init(&limiter->lock, NULL);
	return limiter;
}

void client_limiter_free(struct client_limiter *limiter)
{
	if (!limiter)
		return;
	pthread_mutex_destroy(&limiter->lock);
	free(limiter);
}

static uint64_t hash_of(const struct client_limiter *limiter, const struct client_ip *ip,
                        size_t bytes)
{
	return slug_hash(&limiter->key, (const char *)ip->bytes, bytes) | 1;
}

/* IPv4 is stored v4-mapped: ::ffff:a.b.c.d. Returns the number of networks. */
static size_t networks_of(const struct client_limiter *limiter, const struct client_ip *ip,
                          struct network out[static NETWORKS_MAX])
{
	static const uint8_t mapped[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	if (limiter->per_minute == 0 || !ip->known)
		return 0;
	if (memcmp(ip->bytes, mapped, sizeof(mapped)) == 0) {
		out[0] = (struct network){ hash_of(limiter, ip, 16), limiter->per_minute };
		return 1;
	}
	out[0] = (struct network){ hash_of(limiter, ip, 8), limiter->per_minute };
	out[1] = (struct network){ hash_of(limiter, ip, 6), SITE_FACTOR * limiter->per_minute };
	return 2;
}

static struct client *set_of(struct client_limiter *limiter, uint64_t hash)
{
	return limiter->clients[(hash >> 1) % SETS];
}

/* The client's entry if its window is still open, or NULL. */
static struct client *find(struct client *set, uint64_t hash, int64_t now_us)
{
	for (size_t i = 0; i < WAYS; i++) {
		if (set[i].hash == hash && set[i].window_us + WINDOW_US > now_us)
			return &set[i];
	}
	return NULL;
}

static struct client *replace_oldest(struct client *set, uint64_t hash, int64_t now_us)
{
	struct client *oldest = &set[0];
	for (size_t i = 0; i < WAYS; i++) {
		if (set[i].hash == 0 || set[i].hash == hash) {
			oldest = &set[i];
			break;
		}
		if (set[i].window_us < oldest->window_us)
			oldest = &set[i];
	}
	*oldest = (struct client){ .hash = hash, .window_us = now_us };
	return oldest;
}

void client_limiter_record_miss(struct client_limiter *limiter, const struct client_ip *ip,
                                int64_t now_us)
{
	struct network networks[NETWORKS_MAX];
	size_t count = networks_of(limiter, ip, networks);
	pthread_mutex_lock(&limiter->lock);
	for (size_t i = 0; i < count; i++) {
		struct client *set = set_of(limiter, networks[i].hash);
		struct client *client = find(set, networks[i].hash, now_us);
		if (!client)
			client = replace_oldest(set, networks[i].hash, now_us);
		client->misses++;
	}
	pthread_mutex_unlock(&limiter->lock);
}

int64_t client_limiter_retry_after_s(struct client_limiter *limiter, const struct client_ip *ip,
                                     int64_t now_us)
{
	struct network networks[NETWORKS_MAX];
	size_t count = networks_of(limiter, ip, networks);
	int64_t wait_us = 0;
	pthread_mutex_lock(&limiter->lock);
	for (size_t i = 0; i < count; i++) {
		struct client *client =
			find(set_of(limiter, networks[i].hash), networks[i].hash, now_us);
		if (client && client->misses >= networks[i].limit &&
		    client->window_us + WINDOW_US - now_us > wait_us)
			wait_us = client->window_us + WINDOW_US - now_us;
	}
	pthread_mutex_unlock(&limiter->lock);
	return (wait_us + CLOCK_US_PER_S - 1) / CLOCK_US_PER_S;
}
