#include "services/redirector/client_limiter.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "services/redirector/slug_hash.h"

#define WINDOW_US (60 * CLOCK_US_PER_S)
#define SETS 4096
#define WAYS 4

struct client {
	uint64_t hash; /* a keyed hash; 0: empty */
	int64_t window_us;
	int64_t misses;
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

static bool is_counted(const struct client_limiter *limiter, const struct client_ip *ip)
{
	return limiter->per_minute > 0 && ip->known;
}

/* A client controls the whole /64 of its IPv6 address. IPv4 is stored v4-mapped: ::ffff:a.b.c.d. */
static uint64_t hash_of(const struct client_limiter *limiter, const struct client_ip *ip)
{
	static const uint8_t mapped[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	bool is_ipv4 = memcmp(ip->bytes, mapped, sizeof(mapped)) == 0;
	return slug_hash(&limiter->key, (const char *)ip->bytes, is_ipv4 ? 16 : 8) | 1;
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
	if (!is_counted(limiter, ip))
		return;
	uint64_t hash = hash_of(limiter, ip);
	struct client *set = limiter->clients[(hash >> 1) % SETS];
	pthread_mutex_lock(&limiter->lock);
	struct client *client = find(set, hash, now_us);
	if (!client)
		client = replace_oldest(set, hash, now_us);
	client->misses++;
	pthread_mutex_unlock(&limiter->lock);
}

int64_t client_limiter_retry_after_s(struct client_limiter *limiter, const struct client_ip *ip,
                                     int64_t now_us)
{
	if (!is_counted(limiter, ip))
		return 0;
	uint64_t hash = hash_of(limiter, ip);
	int64_t wait_us = 0;
	pthread_mutex_lock(&limiter->lock);
	struct client *client = find(limiter->clients[(hash >> 1) % SETS], hash, now_us);
	if (client && client->misses >= limiter->per_minute)
		wait_us = client->window_us + WINDOW_US - now_us;
	pthread_mutex_unlock(&limiter->lock);
	return (wait_us + CLOCK_US_PER_S - 1) / CLOCK_US_PER_S;
}
