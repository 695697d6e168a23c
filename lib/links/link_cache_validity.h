/*
 * Decides whether the links in Redis are valid. Its content has a generation, a number that rises
 * whenever Redis may hold something old; everything of an earlier generation reads as a miss
 * (docs/decisions/0012-redis-cache-generation.md). The relay of links-api announces it under the
 * key link_cache:generation, and a thread polls it every 100 ms. Redis is valid while all of these
 * hold:
 *
 *   - The last successful poll began at most 300 ms ago.
 *   - The generation was announced for the run of the server that sent the reply. This is compared
 *     for each reply, so a server that restarted or replaced another one is not used by accident.
 *   - The generation is not lower than any seen before, nor than the one that
 *     link_cache_validity_require demands.
 *   - The relay has repeated the announcement (its heartbeat) within 4 s.
 *   - If Redis was invalid before: a second heartbeat has come since. The relay sends it only after
 *     it has written all missed changes to Redis, or has raised the generation.
 *
 * Safe from any thread.
 */
#ifndef WAYMARK_LIB_LINKS_LINK_CACHE_VALIDITY_H
#define WAYMARK_LIB_LINKS_LINK_CACHE_VALIDITY_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/redis/redis_pool.h"

#define LINK_CACHE_VALIDITY_POLL_MS 100
#define LINK_CACHE_VALIDITY_POLL_AGE_MS 300
/* Of a reply. No visitor waits for the poll; a later reply would be too old. */
#define LINK_CACHE_VALIDITY_POLL_TIMEOUT_MS 200
#define LINK_CACHE_VALIDITY_HEARTBEAT_AGE_MS 4000

struct link_cache_validity;

/* All members are borrowed. metrics may be NULL. */
struct link_cache_validity_config {
	struct redis_pool *redis;
	const struct clock *clock;
	const struct log *log;
	struct metrics *metrics;
};

struct link_cache_validity *link_cache_validity_new(
	const struct link_cache_validity_config *config);
void link_cache_validity_free(struct link_cache_validity *validity);

enum link_cache_validity_level {
	/* all of the above */
	LINK_CACHE_VALIDITY_FULL,
	/*
	 * without the heartbeats: the relay needs PostgreSQL, and while that is down nothing
	 * changes. For callers that cannot read PostgreSQL and would have no answer otherwise.
	 */
	LINK_CACHE_VALIDITY_LAST_RESORT,
};

/* A run of a Redis server and the generation of the values in it. Replies must match it. */
struct link_cache_epoch {
	uint64_t server;
	int64_t generation;
};

/* Gets the current epoch. False: Redis is not valid now. Neither locks nor waits. */
bool link_cache_validity_now(const struct link_cache_validity *validity,
                             enum link_cache_validity_level level, struct link_cache_epoch *out);

/* From now on only this generation or a higher one is valid. Redis may not have reached it yet. */
void link_cache_validity_require(struct link_cache_validity *validity, int64_t generation);

/* The last seen generation, valid or not; 0 if none was seen. */
int64_t link_cache_validity_generation(const struct link_cache_validity *validity);

/* --- the generation in Redis --- */

struct link_cache_generation {
	int64_t number;
	/* The run of Redis that it was announced for (redis_conn_run_id). */
	uint64_t server;
	/* Differs with each announcement. */
	int64_t heartbeat;
};

/*
 * *server is the server that answered. ERR_NOT_FOUND: it has no announcement, or a malformed one.
 * Other errors as redis_pool_call.
 */
enum err link_cache_validity_read(struct redis_pool *redis, struct link_cache_generation *out,
                                  uint64_t *server) MUST_CHECK;

enum link_cache_validity_status {
	LINK_CACHE_VALIDITY_ANNOUNCED,
	LINK_CACHE_VALIDITY_LATE,   /* not_after_us has passed */
	LINK_CACHE_VALIDITY_BEHIND, /* a higher generation has been announced: number */
};

struct link_cache_validity_reply {
	enum link_cache_validity_status status;
	int64_t number;
	/* By the clock of Redis. */
	int64_t now_us;
	/* The server that answered. */
	uint64_t server;
};

/*
 * Announces a generation for a server with a new heartbeat, unless not_after_us has passed by the
 * clock of Redis. So an announcement that was stuck in the socket of a suspended Redis, or that
 * comes from a suspended relay, has no effect. Works even if the memory of Redis is full. Errors of
 * redis_pool_call.
 */
enum err link_cache_validity_announce(struct redis_pool *redis, int64_t number, uint64_t server,
                                      int64_t not_after_us,
                                      struct link_cache_validity_reply *out) MUST_CHECK;

#endif
