/*
 * Safe from any thread. Whether what Redis says about links may be believed. A thread looks every 100 ms at the
 * generation that the relay of links-api announces there (link_cache_generation.h) and believes Redis while
 *
 *   the last look that succeeded began at most 300 ms ago,
 *   the generation was announced for the very run of the server that gives an answer (compared at each answer, so that a
 *   server which restarted or took another's place is not believed by accident),
 *   the generation is no lower than any seen before, nor than the one demanded by link_cache_trust_require,
 *   the relay has announced it again (its beat) within 4 s,
 *   and, after a time of mistrust, again since the first look that succeeded: only then has the relay told that Redis
 *   what had changed, or raised the generation.
 */
#ifndef WAYMARK_LIB_LINKS_LINK_CACHE_TRUST_H
#define WAYMARK_LIB_LINKS_LINK_CACHE_TRUST_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/net/redis_pool.h"

#define LINK_CACHE_TRUST_LOOK_MS 100
#define LINK_CACHE_TRUST_LOOK_AGE_MS 300
#define LINK_CACHE_TRUST_BEAT_AGE_MS 4000

struct link_cache_trust;

/* All borrowed; metrics may be NULL. */
struct link_cache_trust_config {
	struct redis_pool *redis;
	const struct clock *clock;
	const struct log *log;
	struct metrics *metrics;
};

struct link_cache_trust *link_cache_trust_new(const struct link_cache_trust_config *config);
void link_cache_trust_free(struct link_cache_trust *trust);

enum link_cache_trust_level {
	/* All of the above. */
	LINK_CACHE_TRUST_FULL,
	/*
	 * Without the beats: the relay needs PostgreSQL, and while that is away nothing changes there. For who cannot
	 * ask PostgreSQL, and would have no answer otherwise.
	 */
	LINK_CACHE_TRUST_LAST_RESORT,
};

/* What an answer must match: the server that gave it, and the generation of the values in it. */
struct link_cache_trusted {
	uint64_t server;
	int64_t generation;
};

/* False: nothing that Redis says counts now. Neither locks nor waits. */
bool link_cache_trust_now(const struct link_cache_trust *trust, enum link_cache_trust_level level,
                          struct link_cache_trusted *out);

/* From now on only a generation that is at least so high is believed; Redis need not have heard of it yet. */
void link_cache_trust_require(struct link_cache_trust *trust, int64_t generation);

/* The generation that was seen last, believed or not; 0 = none so far. */
int64_t link_cache_trust_generation(const struct link_cache_trust *trust);

#endif
