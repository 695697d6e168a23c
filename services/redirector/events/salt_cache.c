#include "services/redirector/events/salt_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/thread.h"
#include "lib/clicks/salt_store.h"

#define READ_EVERY_MS 60000
#define RETRY_EVERY_MS 1000
#define DAYS 3 /* yesterday, for requests that are answered after midnight; today; tomorrow */

struct salt_cache {
	struct pg_pool *postgres;
	const struct clock *clock;
	const struct log *log;
	struct thread *thread;
	/* Protects the fields below. */
	pthread_mutex_t lock;
	/* Today's salt, as last logged. */
	bool is_missing;
	size_t count;
	struct cached_salt {
		int32_t day;
		struct digest_hmac_key key;
	} salts[DAYS];
};

bool salt_cache_get(struct salt_cache *cache, int64_t time_us, struct digest_hmac_key *salt)
{
	int32_t day = clock_utc_day(time_us);
	bool is_known = false;
	pthread_mutex_lock(&cache->lock);
	for (size_t i = 0; i < cache->count && !is_known; i++) {
		is_known = cache->salts[i].day == day;
		if (is_known)
			*salt = cache->salts[i].key;
	}
	pthread_mutex_unlock(&cache->lock);
	return is_known;
}

static enum err read_salts(struct salt_cache *cache, int32_t today, struct salt *salts,
                           size_t *count)
{
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(cache->postgres, &conn);
	if (err != OK)
		return err;
	err = salt_store_read(conn, today - 1, today + 1, salts, count);
	pg_pool_release(cache->postgres, conn);
	return err;
}

static void log_change(struct salt_cache *cache, bool is_missing)
{
	if (is_missing && !cache->is_missing)
		log_warning(cache->log, "salt_missing");
	else if (!is_missing && cache->is_missing)
		log_info(cache->log, "salt_read");
	cache->is_missing = is_missing;
}

static void replace_salts(struct salt_cache *cache, const struct salt *salts, size_t count)
{
	explicit_bzero(cache->salts, sizeof(cache->salts));
	for (size_t i = 0; i < count; i++) {
		cache->salts[i].day = salts[i].day;
		digest_hmac_key_init(&cache->salts[i].key, salts[i].bytes, sizeof(salts[i].bytes));
	}
	cache->count = count;
}

/* A salt never outlives the day after its own, not even while PostgreSQL is down. */
static void erase_old(struct salt_cache *cache, int32_t today)
{
	size_t kept = 0;
	for (size_t i = 0; i < cache->count; i++) {
		if (cache->salts[i].day >= today - 1)
			cache->salts[kept++] = cache->salts[i];
	}
	for (size_t i = kept; i < cache->count; i++)
		explicit_bzero(&cache->salts[i], sizeof(cache->salts[i]));
	cache->count = kept;
}

/* True: today's and tomorrow's salts are known. They stay while PostgreSQL is down. */
static bool refresh(struct salt_cache *cache)
{
	struct salt salts[DAYS];
	size_t count = 0;
	int64_t now_us = clock_now_us(cache->clock);
	bool was_read = read_salts(cache, clock_utc_day(now_us), salts, &count) == OK;
	pthread_mutex_lock(&cache->lock);
	if (was_read)
		replace_salts(cache, salts, count);
	erase_old(cache, clock_utc_day(now_us));
	pthread_mutex_unlock(&cache->lock);
	struct digest_hmac_key salt;
	bool has_today = salt_cache_get(cache, now_us, &salt);
	log_change(cache, !has_today);
	return has_today && salt_cache_get(cache, now_us + CLOCK_US_PER_DAY, &salt);
}

static void run(void *ctx)
{
	struct salt_cache *cache = ctx;
	bool is_complete;
	do
		is_complete = refresh(cache);
	while (!thread_wait_ms(cache->thread, is_complete ? READ_EVERY_MS : RETRY_EVERY_MS));
}

struct salt_cache *salt_cache_new(const struct salt_cache_config *config)
{
	struct salt_cache *cache = mem_zero(sizeof(*cache));
	cache->postgres = config->postgres;
	cache->clock = config->clock;
	cache->log = config->log;
	pthread_mutex_init(&cache->lock, NULL);
	cache->thread = thread_new();
	thread_start(cache->thread, "salt-cache", run, cache);
	return cache;
}

void salt_cache_free(struct salt_cache *cache)
{
	if (!cache)
		return;
	thread_free(cache->thread);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}
