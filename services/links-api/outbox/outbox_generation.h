/*
 * Applies outbox rows to the link cache in Redis, and invalidates the Redis caches when they may hold
 * outdated links (docs/decisions/0012-redis-cache-generation.md). The janitor's changes reach Redis
 * only this way. A change that its writer could not put into Redis is applied here as soon as Redis
 * is back. Kafka does not wait for that.
 *
 * Each run first applies the uncached rows of the outbox to Redis. While nothing is left over, it
 * announces the current generation in Redis again and again. It raises the generation, in
 * PostgreSQL first, in three cases:
 * - Another Redis server answers than the one of the current generation.
 * - Rows could not be applied for 250 ms, or for a second while Redis still answers.
 * - Redis knows a higher generation, because PostgreSQL was restored from a backup.
 *
 * Between a raise and its announcement, Redis holds nothing of the new generation. The waiting rows
 * then need not be applied and are skipped in bulk. An outage therefore costs one raise and leaves
 * no backlog, however long it lasts.
 *
 * Used by the relay's thread only, while it holds the lock.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_GENERATION_H
#define WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_GENERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/links/link_cache.h"
#include "lib/links/link_cache_validity.h"
#include "lib/links/outbox.h"
#include "lib/postgres/fenced_lock.h"
#include "lib/postgres/pg_conn.h"
#include "lib/redis/redis_pool.h"

#define OUTBOX_GENERATION_INTERVAL_MS 100

enum outbox_generation_reason {
	OUTBOX_GENERATION_NEW_SERVER,
	OUTBOX_GENERATION_UPDATE_TIMEOUT,
	OUTBOX_GENERATION_BEHIND,
	OUTBOX_GENERATION_REASONS,
};

struct outbox_generation {
	/* Borrowed, like the pointers below. */
	struct link_cache *cache;
	struct redis_pool *redis;
	const struct clock *clock;
	const struct log *log;
	struct metric *raises[OUTBOX_GENERATION_REASONS];

	/* Of the cache, and the server it is valid for. 0 = not known. */
	int64_t generation;
	uint64_t server;

	/* Last run; steady clock, as all times here. */
	int64_t maintained_us;
	/* Since when rows could not be applied; 0 = none waits. */
	int64_t behind_us;
	/* And not announced to Redis yet. */
	bool is_raised;
	/* Redis' clock minus our steady clock. */
	int64_t offset_us;
};

void outbox_generation_init(struct outbox_generation *g, struct link_cache *cache,
                            struct redis_pool *redis, const struct clock *clock,
                            const struct log *log, struct metrics *metrics);

/* Call when the lock is lost: another relay may take over. */
void outbox_generation_reset(struct outbox_generation *g);

/*
 * Runs if it is due; takes little more than 250 ms at most. held_us: the steady time when the lock
 * was last confirmed, for at least LOCK_MS from then.
 */
void outbox_generation_maintain(struct outbox_generation *g, struct pg_conn *conn,
                                const struct fenced_lock *lock, int64_t held_us);

/*
 * Applies each row of the batch that is not cached yet, in order. Sets row.cached once Redis has
 * that version or a newer one. Starts no row after until_steady_us, and stops when Redis is down. A
 * purged link becomes DELETED in Redis (404). A row that cannot be decoded counts as cached.
 */
void outbox_generation_apply(const struct outbox_generation *g, struct outbox_batch *batch,
                             int64_t until_steady_us);

/* --- what PostgreSQL has, the table link_cache_generation --- */

enum err outbox_generation_read(struct pg_conn *conn, struct link_cache_epoch *out) MUST_CHECK;

/*
 * In its own transaction: raises the generation above both its current value and above, and records
 * the Redis server it is valid for. ERR_CONFLICT: the lock was lost; nothing changed.
 */
enum err outbox_generation_raise(struct pg_conn *conn, const struct fenced_lock *lock,
                                 int64_t above, uint64_t server,
                                 struct link_cache_epoch *out) MUST_CHECK;

#endif
