/*
 * Safe from any thread. Protects PostgreSQL from a flood of invented slugs without ever answering
 * 404 for a slug that was issued.
 *
 * A slug that is missing from the Bloom filter does not exist, unless it was issued a moment ago
 * and its event is still on the way. For such a slug the limiter
 *   1. lets the caller query PostgreSQL while the budget lasts: fast, for visitors who mistyped; or
 *   2. holds the lookup until the watermark of the feed has passed its arrival. By then every slug
 *      whose 201 came before is in the filter, so a slug that is still missing does not exist.
 *
 * Held lookups are bounded in number and time. Beyond these bounds PostgreSQL is queried, and also
 * while the filter is incomplete or overfull or the feed is not fresh.
 *
 *       if (!unknown_slug_limiter_hold(limiter, slug, on_decision, lookup))
 *               query_postgres(lookup);
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_LOOKUP_UNKNOWN_SLUG_LIMITER_H
#define WAYMARK_SERVICES_REDIRECTOR_LOOKUP_UNKNOWN_SLUG_LIMITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/client_ip.h"
#include "lib/base/clock.h"
#include "lib/base/env.h"
#include "lib/base/err.h"
#include "lib/base/metrics.h"
#include "services/redirector/cache/watermark_tracker.h"
#include "services/redirector/lookup/slug_bloom_filter.h"

/* How much the clocks of this machine and of PostgreSQL may differ. */
#define UNKNOWN_SLUG_LIMITER_CLOCK_SKEW_US (200 * CLOCK_US_PER_MS)
#define UNKNOWN_SLUG_LIMITER_TIMEOUT_US CLOCK_US_PER_S
#define UNKNOWN_SLUG_LIMITER_BATCH_MAX 16

struct unknown_slug_limiter;

struct unknown_slug_limiter_config {
	/* Borrowed, like watermark. */
	const struct slug_bloom_filter *filter;
	const struct watermark_tracker *watermark;
	/* The budget for PostgreSQL. */
	int64_t queries_per_second;
	size_t waiting_max;
	const struct clock *clock;
	struct metrics *metrics;
};

struct unknown_slug_limiter *unknown_slug_limiter_new(
	const struct unknown_slug_limiter_config *config);
/* Only after unknown_slug_limiter_close. */
void unknown_slug_limiter_free(struct unknown_slug_limiter *limiter);

/* ERR_NOT_FOUND: the slug does not exist. ERR_UNAVAILABLE: undecided; query PostgreSQL. */
typedef void (*unknown_slug_limiter_callback)(void *ctx, enum err decision);

/*
 * For a slug that neither memory nor Redis knows. The caller first marks the start of the query
 * (pending_lookups_start_query), because the decision holds for requests that arrived before this
 * call. False: query PostgreSQL now. True: on_done is called once, later, by the thread that calls
 * unknown_slug_limiter_advance or _close. slug is borrowed until then.
 */
bool unknown_slug_limiter_hold(struct unknown_slug_limiter *limiter, const char *slug,
                               unknown_slug_limiter_callback on_done, void *ctx);

/*
 * Whether the slug was not issued, as far as the filter knows now. Unlike a decision it does not
 * wait, so a slug that was issued within the last second may be missing. False while the filter is
 * incomplete or overfull or the feed is not fresh.
 */
bool unknown_slug_limiter_lacks(const struct unknown_slug_limiter *limiter, const char *slug,
                                size_t slug_len);

/* Whether the filter has the slug, as far as it can tell now. False when it can tell nothing. */
bool unknown_slug_limiter_knows(const struct unknown_slug_limiter *limiter, const char *slug,
                                size_t slug_len);

bool unknown_slug_limiter_has_waiters(struct unknown_slug_limiter *limiter);

/*
 * Completes the held lookups that the watermark has passed or that have timed out, at most
 * UNKNOWN_SLUG_LIMITER_BATCH_MAX: hundreds may wait for one watermark, and their responses all at
 * once would delay the cache hits behind them. True: more are due; call again in a millisecond. One
 * thread calls this every few milliseconds.
 */
bool unknown_slug_limiter_advance(struct unknown_slug_limiter *limiter);

/* Completes every held lookup with ERR_UNAVAILABLE and holds none from now on. */
void unknown_slug_limiter_close(struct unknown_slug_limiter *limiter);

/*
 * Also limits how many unknown slugs a client address may request per minute. It says nothing about
 * slugs that exist: redirect.h.
 *
 * An IPv6 address counts as its /64, which one client controls, and as its /48, which one site may
 * have and which may miss four times as often (lib/base/limiter.h). A request counts once its slug
 * has turned out to be unknown, so requests that run at the same time are not stopped.
 */
struct client_limiter;

/* per_minute: ENV_UNLIMITED = no limit. */
struct client_limiter *unknown_slug_limiter_client_new(int64_t per_minute,
                                                       const struct clock *clock);
void unknown_slug_limiter_client_free(struct client_limiter *limiter);

/* Call this after an unknown slug. An address that is not known is not counted. */
void unknown_slug_limiter_client_record_miss(struct client_limiter *limiter,
                                             const struct client_ip *ip);

/* 0: the request may proceed. Otherwise the seconds, 1 to 60, after which the address may retry. */
int64_t unknown_slug_limiter_client_retry_after_s(struct client_limiter *limiter,
                                                  const struct client_ip *ip);

#endif
