/*
 * Safe from any thread. The generation of Redis' content: a number that rises whenever Redis may hold something old, so
 * that everything of before reads as a miss (docs/decisions/0012-generation-of-redis.md). Redis key
 * link_cache:generation, written by the relay of links-api, read by whoever reads links from Redis.
 */
#ifndef WAYMARK_LIB_LINKS_LINK_CACHE_GENERATION_H
#define WAYMARK_LIB_LINKS_LINK_CACHE_GENERATION_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/net/redis_pool.h"

struct link_cache_generation {
	int64_t number;
	uint64_t server; /* for which run of Redis it was announced (redis_conn_server) */
	int64_t beat;    /* another one with each announcement */
};

/*
 * *server: who answered. ERR_NOT_FOUND: nothing was announced there, or something that is not of that form. Otherwise
 * as redis_pool_call.
 */
enum err link_cache_generation_read(struct redis_pool *redis, struct link_cache_generation *out,
                                    uint64_t *server) MUST_CHECK;

enum link_cache_generation_verdict {
	LINK_CACHE_GENERATION_ANNOUNCED,
	LINK_CACHE_GENERATION_LATE,   /* it is past not_after_us */
	LINK_CACHE_GENERATION_BEHIND, /* a higher one was announced: number */
};

struct link_cache_generation_answer {
	enum link_cache_generation_verdict verdict;
	int64_t number;
	int64_t now_us;  /* by Redis' clock */
	uint64_t server; /* who answered */
};

/*
 * Announces a generation for a server with a new beat, unless Redis' clock says that it is past not_after_us: what lay
 * in the socket of a frozen Redis, or comes from a relay that overslept, must not count. Works when Redis' memory is
 * full. Errors of redis_pool_call.
 */
enum err link_cache_generation_announce(struct redis_pool *redis, int64_t number, uint64_t server, int64_t not_after_us,
                                        struct link_cache_generation_answer *out) MUST_CHECK;

#endif
