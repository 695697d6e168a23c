/*
 * The generation of the content of Redis: a number that rises whenever Redis may hold something
 * old. Everything of an earlier generation then reads as a miss
 * (docs/decisions/0012-redis-cache-generation.md). Redis key link_cache:generation; the relay of
 * links-api writes it, readers of cached links read it.
 *
 * Safe from any thread.
 */
#ifndef WAYMARK_LIB_LINKS_LINK_CACHE_GENERATION_H
#define WAYMARK_LIB_LINKS_LINK_CACHE_GENERATION_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/redis/redis_pool.h"

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
enum err link_cache_generation_read(struct redis_pool *redis, struct link_cache_generation *out,
                                    uint64_t *server) MUST_CHECK;

enum link_cache_generation_status {
	LINK_CACHE_GENERATION_ANNOUNCED,
	LINK_CACHE_GENERATION_LATE,   /* not_after_us has passed */
	LINK_CACHE_GENERATION_BEHIND, /* a higher generation has been announced: number */
};

struct link_cache_generation_reply {
	enum link_cache_generation_status status;
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
enum err link_cache_generation_announce(struct redis_pool *redis, int64_t number, uint64_t server,
                                        int64_t not_after_us,
                                        struct link_cache_generation_reply *out) MUST_CHECK;

#endif
