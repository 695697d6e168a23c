/*
 * Decides whether the links in Redis are valid. A thread polls the generation that the relay of
 * links-api announces in Redis (link_cache_generation.h) every 100 ms. Redis is valid while all of
 * these hold:
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
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/redis/redis_pool.h"

#define LINK_CACHE_VALIDITY_POLL_MS 100
#define LINK_CACHE_VALIDITY_POLL_AGE_MS 300
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

#endif
