/*
 * Safe from any thread. Finds the link of a slug, by its key (lib/links/slug.h): memory → Redis →
 * Bloom filter → PostgreSQL.
 *
 *   memory        answers in the loop thread while its entry is fresh (memory_cache.h)
 *   Redis         queried through the loop's pipeline: all queries of one turn go out in one write.
 *                 Holds for a day what links-api and the redirectors put there. Skipped while its
 *                 content is not valid (lib/links/link_cache_validity.h).
 *   Bloom filter  answers 404 for invented slugs (unknown_slug_limiter.h) when neither memory nor
 *                 Redis knows the slug
 *   PostgreSQL    queried by threads of its own, so a hung PostgreSQL does not delay requests that
 *                 Redis can answer
 *
 * At most one lookup runs per slug (pending_lookups.h).
 *
 * What PostgreSQL returns goes into Redis if it is newer there. A slug that PostgreSQL does not
 * know is remembered in Redis for a minute, never in memory, where the link's creation could not
 * reach it.
 *
 * When a store is down:
 *   - Redis: PostgreSQL is queried at once.
 *   - PostgreSQL (down, not merely slow): what Redis holds, or else what memory holds, however old.
 *   - No store can answer: ERR_UNAVAILABLE, never ERR_NOT_FOUND.
 * A version that memory has seen never goes back: an older version from Redis is skipped. Of a link
 * with extras the feed brings the version alone: Redis or PostgreSQL have the rest, and without both
 * such a link is ERR_UNAVAILABLE until one answers.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_LOOKUP_LINK_LOOKUP_H
#define WAYMARK_SERVICES_REDIRECTOR_LOOKUP_LINK_LOOKUP_H

#include <stddef.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/metrics.h"
#include "lib/links/link_cache.h"
#include "lib/postgres/pg_pool.h"
#include "services/redirector/cache/memory_cache.h"
#include "services/redirector/cache/recent_changes.h"
#include "services/redirector/lookup/pending_lookups.h"
#include "services/redirector/lookup/unknown_slug_limiter.h"

/* A lookup that has not reached PostgreSQL after this time is given up. */
#define LINK_LOOKUP_TIMEOUT_US (2 * CLOCK_US_PER_S)

struct link_lookup;

struct link_lookup_config {
	/* These five are borrowed. */
	struct memory_cache *memory;
	struct link_cache *redis;
	struct pg_pool *postgres;
	struct recent_changes *changes;
	struct unknown_slug_limiter *limiter;
	/* Threads for PostgreSQL, and as many for Redis without a pipeline. */
	size_t workers;
	/* That may wait for a thread; beyond: ERR_UNAVAILABLE. */
	size_t lookups_max;
	/* SLUG_CASE is exact. */
	bool is_slug_exact;
	const struct clock *clock;
	struct metrics *metrics;
};

struct link_lookup *link_lookup_new(const struct link_lookup_config *config);
/* Waits for pending lookups, which end within seconds. */
void link_lookup_free(struct link_lookup *lookup);

/*
 * Never blocks: memory alone, at the steady time now_us. ERR_NOT_FOUND: memory has no fresh entry;
 * call link_lookup_start.
 */
enum err link_lookup_in_memory(struct link_lookup *lookup, const char *key, size_t key_len,
                               int64_t now_us, struct link_entry *out) MUST_CHECK;

struct link_lookup_waiter {
	/* Called once with the result. */
	pending_lookups_callback on_done;
	/*
	 * Called in the loop thread before another thread takes over a lookup for which
	 * link_lookup_start returned true.
	 */
	void (*leave_loop)(void *waiter);
	void *ctx;
	void *waiter;
};

/*
 * Never blocks. on_done gets OK and the entry, ERR_NOT_FOUND (never issued, or purged), ERR_CONFLICT
 * (not under this key, but perhaps under the other one of the slug; only for the kind of key that new
 * links have) or ERR_UNAVAILABLE. It usually runs later, but it may run before this function returns.
 *
 * pipeline is the connection to Redis of the calling thread's loop. NULL, or while it is not
 * connected: a worker queries Redis.
 *
 * True: the lookup is in the hands of the pipeline's thread, which calls on_done, or leave_loop
 * before another thread takes over. False: any thread may call on_done, or has done so already.
 */
bool link_lookup_start(struct link_lookup *lookup, struct redis_pipeline *pipeline, const char *key,
                       size_t key_len, const struct link_lookup_waiter *waiter);

#endif
