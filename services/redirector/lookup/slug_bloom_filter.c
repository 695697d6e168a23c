#include "services/redirector/lookup/slug_bloom_filter.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"
#include "lib/base/thread.h"
#include "lib/links/link_store.h"
#include "services/redirector/lookup/unknown_slug_limiter.h"

/* For 1 % false positives at capacity: -ln(0.01) / ln(2)^2 bits per slug and -log2(0.01) probes. */
#define BITS_PER_THOUSAND 9586
#define PROBES 7
#define NEVER INT64_MIN
#define POLL_MS 200
#define RETRY_MS 1000
/* Half of UNKNOWN_SLUG_LIMITER_CLOCK_SKEW_US, the shortest time that a lookup is held. */
#define NEW_MS 100
#define NEW_IDLE_US CLOCK_US_PER_S
#define RECENT_IDS 200

struct slug_bloom_filter {
	uint64_t seed;
	size_t slugs_max;
	uint64_t bit_count;
	_Atomic size_t count;
	_Atomic int64_t complete_for_us;
	_Atomic uint64_t *words;
};

struct slug_bloom_filter *slug_bloom_filter_new(size_t slugs)
{
	struct slug_bloom_filter *filter = mem_zero(sizeof(*filter));
	entropy_fill(&filter->seed, sizeof(filter->seed));
	filter->slugs_max = slugs;
	filter->bit_count = ((uint64_t)slugs * BITS_PER_THOUSAND / 1000 / 64 + 1) * 64;
	filter->words = mem_array(filter->bit_count / 64, sizeof(*filter->words));
	atomic_init(&filter->complete_for_us, NEVER);
	return filter;
}

void slug_bloom_filter_free(struct slug_bloom_filter *filter)
{
	if (!filter)
		return;
	free(filter->words);
	free(filter);
}

/* The upper half of the product maps a hash evenly to any number of bits (Lemire). */
static uint64_t position(const struct slug_bloom_filter *filter, XXH128_hash_t hash, unsigned probe)
{
	uint64_t mixed = hash.low64 + probe * (hash.high64 | 1);
	return (uint64_t)(((unsigned __int128)mixed * filter->bit_count) >> 64);
}

void slug_bloom_filter_add(struct slug_bloom_filter *filter, const char *slug, size_t slug_len)
{
	XXH128_hash_t hash = XXH3_128bits_withSeed(slug, slug_len, filter->seed);
	bool is_new = false;
	for (unsigned probe = 0; probe < PROBES; probe++) {
		uint64_t at = position(filter, hash, probe);
		uint64_t bit = UINT64_C(1) << (at % 64);
		is_new = !(atomic_fetch_or_explicit(&filter->words[at / 64], bit,
		                                    memory_order_release) &
		           bit) ||
		         is_new;
	}
	atomic_fetch_add_explicit(&filter->count, is_new, memory_order_relaxed);
}

bool slug_bloom_filter_may_contain(const struct slug_bloom_filter *filter, const char *slug,
                                   size_t slug_len)
{
	XXH128_hash_t hash = XXH3_128bits_withSeed(slug, slug_len, filter->seed);
	for (unsigned probe = 0; probe < PROBES; probe++) {
		uint64_t at = position(filter, hash, probe);
		uint64_t word = atomic_load_explicit(&filter->words[at / 64], memory_order_acquire);
		if (!(word >> (at % 64) & 1))
			return false;
	}
	return true;
}

size_t slug_bloom_filter_count(const struct slug_bloom_filter *filter)
{
	return atomic_load_explicit(&filter->count, memory_order_relaxed);
}

bool slug_bloom_filter_is_overfull(const struct slug_bloom_filter *filter)
{
	return slug_bloom_filter_count(filter) > filter->slugs_max;
}

size_t slug_bloom_filter_bytes(const struct slug_bloom_filter *filter)
{
	return filter->bit_count / 8;
}

void slug_bloom_filter_set_complete(struct slug_bloom_filter *filter, int64_t continuous_since_us)
{
	atomic_store(&filter->complete_for_us, continuous_since_us);
}

bool slug_bloom_filter_is_complete(const struct slug_bloom_filter *filter,
                                   int64_t continuous_since_us)
{
	return atomic_load(&filter->complete_for_us) == continuous_since_us;
}

/* --- filling it from PostgreSQL --- */

struct bloom_filter_loader {
	struct bloom_filter_loader_config config;
	struct thread *thread;
	bool has_warned_overfull;
	struct link_store_key_page *page;
	int64_t newest_id;
	/* Steady; last look for new links. */
	int64_t polled_us;
};

static int64_t continuous_since(const struct bloom_filter_loader *loader)
{
	return atomic_load(&loader->config.watermark->continuous_since_us);
}

static void add_page(struct bloom_filter_loader *loader)
{
	const struct link_store_key_page *page = loader->page;
	for (size_t i = 0; i < page->count; i++)
		slug_bloom_filter_add(loader->config.filter, page->keys[i], strlen(page->keys[i]));
}

enum page_kind { PAGE_FIRST, PAGE_NEXT, PAGE_NEW };

/* One short statement; the connection is released right after it. */
static enum err load_page(struct bloom_filter_loader *loader, enum page_kind kind)
{
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(loader->config.postgres, &conn);
	if (err != OK)
		return err;
	if (kind == PAGE_FIRST)
		err = link_store_newest_id(conn, &loader->newest_id);
	if (err == OK && kind == PAGE_NEW)
		err = link_store_new_keys(conn, &loader->newest_id, loader->page);
	else if (err == OK)
		err = link_store_next_keys(conn, loader->page);
	pg_pool_release(loader->config.postgres, conn);
	if (err == OK)
		add_page(loader);
	return err;
}

/* ERR_LIMIT: there are more slugs than the filter's capacity. */
static enum err load_all(struct bloom_filter_loader *loader)
{
	loader->page->last[0] = '\0';
	enum err err = load_page(loader, PAGE_FIRST);
	while (err == OK && loader->page->count >= LINK_STORE_KEY_PAGE_MAX) {
		if (slug_bloom_filter_is_overfull(loader->config.filter))
			return ERR_LIMIT;
		err = thread_is_stopping(loader->thread) ? ERR_UNAVAILABLE
		                                         : load_page(loader, PAGE_NEXT);
	}
	return err == OK && slug_bloom_filter_is_overfull(loader->config.filter) ? ERR_LIMIT : err;
}

/* Re-reads the last RECENT_IDS ids as well: ids are assigned before their rows are committed. */
static void load_new(struct bloom_filter_loader *loader)
{
	loader->newest_id = loader->newest_id > RECENT_IDS ? loader->newest_id - RECENT_IDS : 0;
	enum err err = load_page(loader, PAGE_NEW);
	while (err == OK && loader->page->count >= LINK_STORE_KEY_PAGE_MAX &&
	       !thread_wait_ms(loader->thread, 0))
		err = load_page(loader, PAGE_NEW);
}

static void warn_overfull(struct bloom_filter_loader *loader)
{
	if (loader->has_warned_overfull)
		return;
	loader->has_warned_overfull = true;
	log_warning(
		loader->config.log, "slug_bloom_filter_overfull",
		LOG_INT("slugs", slug_bloom_filter_count(loader->config.filter)),
		LOG_TEXT(
			"hint",
			"raise SLUG_BLOOM_FILTER_SLUGS; until then unknown slugs reach PostgreSQL"));
}

/* Returns the pause until the next call. */
static int64_t load_once(struct bloom_filter_loader *loader)
{
	struct slug_bloom_filter *filter = loader->config.filter;
	int64_t since_us = continuous_since(loader);
	if (slug_bloom_filter_is_overfull(filter)) {
		warn_overfull(loader);
		return RETRY_MS;
	}
	if (since_us == WATERMARK_TRACKER_NOT_CONTINUOUS)
		return POLL_MS;
	if (slug_bloom_filter_is_complete(filter, since_us)) {
		int64_t now_us = clock_steady_us(clock_system());
		if (unknown_slug_limiter_has_waiters(loader->config.limiter) ||
		    now_us - loader->polled_us >= NEW_IDLE_US) {
			loader->polled_us = now_us;
			load_new(loader);
		}
		return NEW_MS;
	}
	if (load_all(loader) != OK)
		return RETRY_MS;
	slug_bloom_filter_set_complete(filter, since_us);
	log_info(loader->config.log, "slug_bloom_filter_complete",
	         LOG_INT("slugs", slug_bloom_filter_count(filter)));
	return POLL_MS;
}

static void load(void *ctx)
{
	struct bloom_filter_loader *loader = ctx;
	for (int64_t pause_ms = POLL_MS; !thread_wait_ms(loader->thread, pause_ms);)
		pause_ms = load_once(loader);
}

static double is_complete_value(void *ctx)
{
	struct bloom_filter_loader *loader = ctx;
	int64_t since_us = continuous_since(loader);
	return since_us != WATERMARK_TRACKER_NOT_CONTINUOUS &&
	                       slug_bloom_filter_is_complete(loader->config.filter, since_us)
	               ? 1
	               : 0;
}

static double is_overfull_value(void *ctx)
{
	return slug_bloom_filter_is_overfull(ctx) ? 1 : 0;
}

static double count_value(void *ctx)
{
	return (double)slug_bloom_filter_count(ctx);
}

struct bloom_filter_loader *slug_bloom_filter_loader_start(
	const struct bloom_filter_loader_config *config)
{
	struct bloom_filter_loader *loader = mem_zero(sizeof(*loader));
	struct metrics *m = config->metrics;
	loader->config = *config;
	loader->page = mem_zero(sizeof(*loader->page));
	loader->thread = thread_new();
	metrics_gauge_callback(m, "waymark_slug_bloom_filter_is_complete",
	                       "1 while the Bloom filter holds every issued slug.", NULL,
	                       is_complete_value, loader);
	metrics_gauge_callback(
		m, "waymark_slug_bloom_filter_is_overfull",
		"1 if the Bloom filter holds more slugs than SLUG_BLOOM_FILTER_SLUGS; it is not used then.",
		NULL, is_overfull_value, config->filter);
	metrics_gauge_callback(m, "waymark_slug_bloom_filter_slugs", "Slugs in the Bloom filter.",
	                       NULL, count_value, config->filter);
	thread_start(loader->thread, "bloom-loader", load, loader);
	return loader;
}

void slug_bloom_filter_loader_stop(struct bloom_filter_loader *loader)
{
	if (!loader)
		return;
	thread_free(loader->thread);
	free(loader->page);
	free(loader);
}
