#include "services/links-api/http/local_limiter.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/digest.h"
#include "lib/base/entropy.h"
#include "lib/base/mem.h"

#define SETS 4096
#define WAYS 4
#define HASH_KEY_SIZE 32

struct entry {
	uint64_t hash; /* 0: empty */
	int64_t counted;
	int64_t window_end_us; /* steady */
	int64_t running;
	int64_t hold_end_us; /* steady */
};

struct local_limiter {
	const struct clock *clock;
	struct digest_hmac_key hash_key;
	pthread_mutex_t lock; /* guards entries */
	struct entry entries[SETS][WAYS];
};

struct local_limiter *local_limiter_new(const struct clock *clock)
{
	uint8_t key[HASH_KEY_SIZE];
	struct local_limiter *limiter = mem_zero(sizeof(*limiter));
	limiter->clock = clock;
	entropy_fill(key, sizeof(key));
	digest_hmac_key_init(&limiter->hash_key, key, sizeof(key));
	pthread_mutex_init(&limiter->lock, NULL);
	return limiter;
}

void local_limiter_free(struct local_limiter *limiter)
{
	if (!limiter)
		return;
	pthread_mutex_destroy(&limiter->lock);
	free(limiter);
}

static uint64_t hash_of(const struct local_limiter *limiter, const char *key)
{
	uint8_t digest[DIGEST_SIZE];
	uint64_t hash;
	digest_hmac_sha256_with(&limiter->hash_key, key, strlen(key), digest);
	memcpy(&hash, digest, sizeof(hash));
	return hash | 1;
}

static void forget_past(struct entry *entry, int64_t now_us)
{
	if (entry->window_end_us <= now_us)
		entry->counted = 0;
	if (entry->hold_end_us <= now_us)
		entry->running = 0;
	if (entry->counted == 0 && entry->running == 0)
		entry->hash = 0;
}

/* The entry of the key, or NULL. *spare: the entry that a new key would replace. */
static struct entry *find(struct entry *set, uint64_t hash, int64_t now_us, struct entry **spare)
{
	*spare = NULL;
	for (size_t i = 0; i < WAYS; i++) {
		struct entry *entry = &set[i];
		forget_past(entry, now_us);
		if (entry->hash == hash)
			return entry;
		int64_t events = entry->counted + entry->running;
		if (!*spare || events < (*spare)->counted + (*spare)->running)
			*spare = entry;
	}
	return NULL;
}

/* Locks the table. With creates, never NULL. */
static struct entry *lock_entry(struct local_limiter *limiter, const char *key, bool creates,
                                int64_t now_us)
{
	uint64_t hash = hash_of(limiter, key);
	struct entry *spare;
	pthread_mutex_lock(&limiter->lock);
	struct entry *entry = find(limiter->entries[(hash >> 1) % SETS], hash, now_us, &spare);
	if (!entry && creates) {
		*spare = (struct entry){ .hash = hash };
		entry = spare;
	}
	return entry;
}

static struct local_limiter_state state_of(const struct entry *entry, int64_t now_us)
{
	struct local_limiter_state state = { 0 };
	if (!entry)
		return state;
	state.counted = entry->counted;
	state.running = entry->running;
	if (entry->counted > 0)
		state.reset_s =
			(entry->window_end_us - now_us + CLOCK_US_PER_S - 1) / CLOCK_US_PER_S;
	return state;
}

struct local_limiter_state local_limiter_get(struct local_limiter *limiter, const char *key)
{
	int64_t now_us = clock_steady_us(limiter->clock);
	struct local_limiter_state state =
		state_of(lock_entry(limiter, key, false, now_us), now_us);
	pthread_mutex_unlock(&limiter->lock);
	return state;
}

struct local_limiter_state local_limiter_add(struct local_limiter *limiter, const char *key,
                                             int64_t events, int64_t window_s)
{
	int64_t now_us = clock_steady_us(limiter->clock);
	struct entry *entry = lock_entry(limiter, key, true, now_us);
	if (entry->counted == 0)
		entry->window_end_us = now_us + window_s * CLOCK_US_PER_S;
	entry->counted += events;
	struct local_limiter_state state = state_of(entry, now_us);
	pthread_mutex_unlock(&limiter->lock);
	return state;
}

void local_limiter_set(struct local_limiter *limiter, const char *key, int64_t counted,
                       int64_t window_s)
{
	int64_t now_us = clock_steady_us(limiter->clock);
	struct entry *entry = lock_entry(limiter, key, counted > 0, now_us);
	if (entry) {
		entry->counted = counted;
		entry->window_end_us = now_us + window_s * CLOCK_US_PER_S;
	}
	pthread_mutex_unlock(&limiter->lock);
}

void local_limiter_refund(struct local_limiter *limiter, const char *key)
{
	struct entry *entry = lock_entry(limiter, key, false, clock_steady_us(limiter->clock));
	if (entry && entry->counted > 0)
		entry->counted--;
	pthread_mutex_unlock(&limiter->lock);
}

enum err local_limiter_reserve(struct local_limiter *limiter, const char *key, int64_t max,
                               int64_t hold_s, struct local_limiter_state *state)
{
	int64_t now_us = clock_steady_us(limiter->clock);
	struct entry *entry = lock_entry(limiter, key, true, now_us);
	*state = state_of(entry, now_us);
	enum err err = entry->counted + entry->running < max ? OK : ERR_LIMIT;
	if (err == OK) {
		entry->running++;
		entry->hold_end_us = now_us + hold_s * CLOCK_US_PER_S;
	}
	pthread_mutex_unlock(&limiter->lock);
	return err;
}

void local_limiter_release(struct local_limiter *limiter, const char *key)
{
	struct entry *entry = lock_entry(limiter, key, false, clock_steady_us(limiter->clock));
	if (entry && entry->running > 0)
		entry->running--;
	pthread_mutex_unlock(&limiter->lock);
}
