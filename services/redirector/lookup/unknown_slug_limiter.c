#include "services/redirector/lookup/unknown_slug_limiter.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/limiter.h"
#include "lib/base/mem.h"

struct waiter {
	struct waiter *next;
	const char *slug;
	unknown_slug_limiter_callback on_done;
	void *ctx;
	/* Wall. */
	int64_t awaited_watermark_us;
	/* Steady. */
	int64_t deadline_us;
};

struct unknown_slug_limiter {
	struct unknown_slug_limiter_config config;
	pthread_mutex_t lock;
	/* The oldest. */
	struct waiter *first;
	struct waiter *last;
	size_t count;
	bool is_closed;
	/* Of queries; a second's budget at once. Steady; when none is owed any more. */
	struct limiter_rule queries;
	int64_t free_at_us;
	struct metric *held;
	struct metric *denied;
	struct metric *timed_out;
};

bool unknown_slug_limiter_has_waiters(struct unknown_slug_limiter *limiter)
{
	pthread_mutex_lock(&limiter->lock);
	size_t waiting = limiter->count;
	pthread_mutex_unlock(&limiter->lock);
	return waiting > 0;
}

struct unknown_slug_limiter *unknown_slug_limiter_new(
	const struct unknown_slug_limiter_config *config)
{
	struct unknown_slug_limiter *limiter = mem_zero(sizeof(*limiter));
	limiter->config = *config;
	limiter->queries = (struct limiter_rule){ config->queries_per_second, CLOCK_US_PER_S };
	limiter->free_at_us = clock_steady_us(config->clock) + CLOCK_US_PER_S;
	pthread_mutex_init(&limiter->lock, NULL);
	limiter->held = metrics_counter(
		config->metrics, "waymark_unknown_slugs_held_total",
		"Lookups of slugs not in the Bloom filter that waited for the watermark.", NULL);
	limiter->denied = metrics_counter(config->metrics, "waymark_unknown_slugs_denied_total",
	                                  "Lookups answered 404 by the Bloom filter.", NULL);
	limiter->timed_out = metrics_counter(
		config->metrics, "waymark_unknown_slugs_timed_out_total",
		"Lookups whose wait for the watermark timed out or was undecided.", NULL);
	return limiter;
}

void unknown_slug_limiter_free(struct unknown_slug_limiter *limiter)
{
	if (!limiter)
		return;
	pthread_mutex_destroy(&limiter->lock);
	free(limiter);
}

/* Whether "not in the filter" is certain at the moment. */
static bool is_filter_reliable(const struct unknown_slug_limiter *limiter)
{
	const struct watermark_tracker *watermark = limiter->config.watermark;
	const struct slug_bloom_filter *filter = limiter->config.filter;
	int64_t continuous_since_us = atomic_load(&watermark->continuous_since_us);
	return continuous_since_us != WATERMARK_TRACKER_NOT_CONTINUOUS &&
	       slug_bloom_filter_is_complete(filter, continuous_since_us) &&
	       !slug_bloom_filter_is_overfull(filter);
}

static bool may_be_issued(const struct unknown_slug_limiter *limiter, const char *slug)
{
	return slug_bloom_filter_may_contain(limiter->config.filter, slug, strlen(slug));
}

static bool is_filter_current(const struct unknown_slug_limiter *limiter)
{
	int64_t now_us = clock_steady_us(limiter->config.clock);
	return watermark_tracker_is_fresh(limiter->config.watermark, now_us) &&
	       is_filter_reliable(limiter);
}

bool unknown_slug_limiter_lacks(const struct unknown_slug_limiter *limiter, const char *slug,
                                size_t slug_len)
{
	return is_filter_current(limiter) &&
	       !slug_bloom_filter_may_contain(limiter->config.filter, slug, slug_len);
}

bool unknown_slug_limiter_knows(const struct unknown_slug_limiter *limiter, const char *slug,
                                size_t slug_len)
{
	return is_filter_current(limiter) &&
	       slug_bloom_filter_may_contain(limiter->config.filter, slug, slug_len);
}

/* Call it with the lock held. */
static bool take_query(struct unknown_slug_limiter *limiter, int64_t now_us)
{
	int64_t owed_us = limiter->free_at_us > now_us ? limiter->free_at_us - now_us : 0;
	if (limiter->queries.max == 0 || limiter_wait_us(&limiter->queries, owed_us) > 0)
		return false;
	limiter->free_at_us = now_us + limiter_count(&limiter->queries, owed_us, 1);
	return true;
}

/* Call it with the lock held. */
static void append(struct unknown_slug_limiter *limiter, struct waiter *waiter)
{
	if (limiter->last)
		limiter->last->next = waiter;
	else
		limiter->first = waiter;
	limiter->last = waiter;
	limiter->count++;
}

bool unknown_slug_limiter_hold(struct unknown_slug_limiter *limiter, const char *slug,
                               unknown_slug_limiter_callback on_done, void *ctx)
{
	int64_t steady_us = clock_steady_us(limiter->config.clock);
	if (!unknown_slug_limiter_lacks(limiter, slug, strlen(slug)))
		return false;
	struct waiter *waiter = mem_zero(sizeof(*waiter));
	*waiter = (struct waiter){
		.slug = slug,
		.on_done = on_done,
		.ctx = ctx,
		.awaited_watermark_us =
			clock_now_us(limiter->config.clock) + UNKNOWN_SLUG_LIMITER_CLOCK_SKEW_US,
		.deadline_us = steady_us + UNKNOWN_SLUG_LIMITER_TIMEOUT_US,
	};
	pthread_mutex_lock(&limiter->lock);
	bool is_held = !limiter->is_closed && !take_query(limiter, steady_us) &&
	               limiter->count < limiter->config.waiting_max;
	if (is_held)
		append(limiter, waiter);
	pthread_mutex_unlock(&limiter->lock);
	metrics_add(limiter->held, is_held);
	if (!is_held)
		free(waiter);
	return is_held;
}

/* Call it with the lock held. */
static struct waiter *take_first(struct unknown_slug_limiter *limiter)
{
	struct waiter *waiter = limiter->first;
	limiter->first = waiter->next;
	if (!limiter->first)
		limiter->last = NULL;
	limiter->count--;
	waiter->next = NULL;
	return waiter;
}

/* The oldest waiter is due first: all wait equally long. Call it with the lock held. */
static bool is_first_due(const struct unknown_slug_limiter *limiter, int64_t watermark_us,
                         int64_t now_us)
{
	return limiter->first &&
	       (limiter->is_closed || limiter->first->awaited_watermark_us <= watermark_us ||
	        limiter->first->deadline_us <= now_us);
}

/* Removes at most max due waiters, oldest first. more: further ones are due. */
static struct waiter *take_due(struct unknown_slug_limiter *limiter, int64_t watermark_us,
                               int64_t now_us, size_t max, bool *more)
{
	struct waiter *due = NULL;
	struct waiter **end = &due;
	pthread_mutex_lock(&limiter->lock);
	for (size_t i = 0; i < max && is_first_due(limiter, watermark_us, now_us); i++) {
		*end = take_first(limiter);
		end = &(*end)->next;
	}
	*more = is_first_due(limiter, watermark_us, now_us);
	pthread_mutex_unlock(&limiter->lock);
	return due;
}

static enum err decide(struct unknown_slug_limiter *limiter, const struct waiter *waiter,
                       int64_t watermark_us)
{
	bool is_certain =
		waiter->awaited_watermark_us <= watermark_us && is_filter_reliable(limiter);
	bool is_unknown = is_certain && !may_be_issued(limiter, waiter->slug);
	metrics_add(limiter->denied, is_unknown);
	metrics_add(limiter->timed_out, !is_certain);
	return is_unknown ? ERR_NOT_FOUND : ERR_UNAVAILABLE;
}

bool unknown_slug_limiter_advance(struct unknown_slug_limiter *limiter)
{
	bool more;
	int64_t watermark_us = watermark_tracker_watermark_us(limiter->config.watermark);
	int64_t now_us = clock_steady_us(limiter->config.clock);
	struct waiter *waiter =
		take_due(limiter, watermark_us, now_us, UNKNOWN_SLUG_LIMITER_BATCH_MAX, &more);
	while (waiter) {
		struct waiter *next = waiter->next;
		waiter->on_done(waiter->ctx, decide(limiter, waiter, watermark_us));
		free(waiter);
		waiter = next;
	}
	return more;
}

void unknown_slug_limiter_close(struct unknown_slug_limiter *limiter)
{
	pthread_mutex_lock(&limiter->lock);
	limiter->is_closed = true;
	pthread_mutex_unlock(&limiter->lock);
	bool more;
	struct waiter *waiter = take_due(limiter, 0, 0, SIZE_MAX, &more);
	while (waiter) {
		struct waiter *next = waiter->next;
		waiter->on_done(waiter->ctx, ERR_UNAVAILABLE);
		free(waiter);
		waiter = next;
	}
}

/* --- per client --- */

#define NETWORKS_MAX 2
/* What an IPv6 /48 may do more than a /64. */
#define SITE_FACTOR 4

/* What an address counts as: its first len bytes. */
struct network {
	size_t len;
	struct limiter_rule rule;
};

struct client_limiter {
	int64_t per_minute;
	struct limiter *misses;
};

struct client_limiter *unknown_slug_limiter_client_new(int64_t per_minute,
                                                       const struct clock *clock)
{
	struct client_limiter *limiter = mem_zero(sizeof(*limiter));
	limiter->per_minute = per_minute;
	limiter->misses = limiter_new(clock);
	return limiter;
}

void unknown_slug_limiter_client_free(struct client_limiter *limiter)
{
	if (!limiter)
		return;
	limiter_free(limiter->misses);
	free(limiter);
}

static struct network network_of(const struct client_limiter *limiter, size_t len, int64_t factor)
{
	return (struct network){ len, { factor * limiter->per_minute, 60 * CLOCK_US_PER_S } };
}

/* IPv4 is stored v4-mapped: ::ffff:a.b.c.d. Returns the number of networks. */
static size_t networks_of(const struct client_limiter *limiter, const struct client_ip *ip,
                          struct network out[static NETWORKS_MAX])
{
	static const uint8_t mapped[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	if (limiter->per_minute == ENV_UNLIMITED || !ip->known)
		return 0;
	bool is_ipv4 = memcmp(ip->bytes, mapped, sizeof(mapped)) == 0;
	out[0] = network_of(limiter, is_ipv4 ? 16 : 8, 1);
	out[1] = network_of(limiter, 6, SITE_FACTOR);
	return is_ipv4 ? 1 : 2;
}

void unknown_slug_limiter_client_record_miss(struct client_limiter *limiter,
                                             const struct client_ip *ip)
{
	struct network networks[NETWORKS_MAX];
	size_t count = networks_of(limiter, ip, networks);
	for (size_t i = 0; i < count; i++)
		limiter_add(limiter->misses, ip->bytes, networks[i].len, &networks[i].rule, 1);
}

int64_t unknown_slug_limiter_client_retry_after_s(struct client_limiter *limiter,
                                                  const struct client_ip *ip)
{
	struct network networks[NETWORKS_MAX];
	size_t count = networks_of(limiter, ip, networks);
	int64_t longest_us = 0;
	for (size_t i = 0; i < count; i++) {
		int64_t owed_us = limiter_owed_us(limiter->misses, ip->bytes, networks[i].len);
		int64_t wait_us = limiter_wait_us(&networks[i].rule, owed_us);
		longest_us = wait_us > longest_us ? wait_us : longest_us;
	}
	return (longest_us + CLOCK_US_PER_S - 1) / CLOCK_US_PER_S;
}
