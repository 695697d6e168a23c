/*
 * Safe from any thread. Links in Redis: key link:{slug}. Everything is best effort: Redis may lose any of it at any
 * time. What is old never stays there, and never comes back (docs/decisions/0012-generation-of-redis.md):
 *
 *   - A value carries the generation of Redis' content; one of another generation is none, and Redis is asked only while
 *     it can be trusted (link_cache_trust.h).
 *   - An entry only ever takes the place of an older version of itself, or of a reservation that was made before the entry
 *     was read from PostgreSQL, or committed there. Whoever changes the link takes the reservation away, and so do
 *     eviction and flushing: a late entry finds no place, however late it comes.
 *
 * Unknown slugs are kept as values of their own kind, deleted links as entries whose state is DELETED.
 */
#ifndef WAYMARK_LIB_LINKS_LINK_CACHE_H
#define WAYMARK_LIB_LINKS_LINK_CACHE_H

#include <stdint.h>

#include "lib/links/link.h"
#include "lib/links/link_cache_trust.h"
#include "lib/net/redis_pipeline.h"
#include "lib/net/redis_pool.h"

#define LINK_CACHE_TTL_S (24 * 3600) /* ± 10 %, so that entries made together do not end together */
#define LINK_CACHE_UNKNOWN_TTL_S 60
#define LINK_CACHE_RESERVATION_TTL_S 10

struct link_cache;

/* All borrowed; metrics may be NULL. */
struct link_cache_config {
	struct redis_pool *redis;
	const struct clock *clock;
	const struct log *log;
	struct metrics *metrics;
};

/*
 * Begins to look whether Redis can be trusted; it is not before the relay of links-api has been seen at work, 0.2 s
 * later.
 */
struct link_cache *link_cache_new(const struct link_cache_config *config);
void link_cache_free(struct link_cache *cache);

/* From now on a lower generation is not believed (link_cache_trust_require). */
void link_cache_require_generation(struct link_cache *cache, int64_t generation);

/*
 * What to compare an answer of Redis with, for who keeps there what follows from links under the same generation
 * (LINK_CACHE_TRUST_FULL). False: Redis cannot be trusted now.
 */
bool link_cache_trusted_now(const struct link_cache *cache, struct link_cache_trusted *out);

/* --- reading --- */

enum link_cache_answer {
	LINK_CACHE_ENTRY,   /* out is filled */
	LINK_CACHE_UNKNOWN, /* PostgreSQL said recently that there is no such slug */
	LINK_CACHE_MISS,    /* ask PostgreSQL */
	LINK_CACHE_AWAY,    /* Redis is away, too slow or cannot be trusted now: ask PostgreSQL, do not fill */
};

enum link_cache_answer link_cache_get(struct link_cache *cache, const char *slug, struct link_entry *out);

/* As link_cache_get, for when PostgreSQL cannot be asked (LINK_CACHE_TRUST_LAST_RESORT). */
enum link_cache_answer link_cache_get_last_resort(struct link_cache *cache, const char *slug, struct link_entry *out);

/* entry is borrowed (the callee may change it), and only there with LINK_CACHE_ENTRY. */
typedef void (*link_cache_told)(void *ctx, enum link_cache_answer answer, struct link_entry *entry);

/*
 * As link_cache_get, without waiting: told is called once, later, in the pipeline's thread. ERR_UNAVAILABLE: Redis
 * cannot be trusted now, or through this pipeline. With it and the other errors of redis_pipeline_call Redis was not
 * asked, told is not called.
 */
enum err link_cache_ask(struct link_cache *cache, struct redis_pipeline *pipeline, const char *slug,
                        link_cache_told told, void *ctx) MUST_CHECK;

/* --- filling --- */

/* The right to put one slug's entry where Redis has none. A value; all zero: no such right. */
struct link_cache_reservation {
	int64_t generation;
	char mark[17];
};

/*
 * Before PostgreSQL is read for an entry that Redis does not have; *out is all zero when Redis is away, cannot be
 * trusted, or has something by now.
 */
void link_cache_reserve(struct link_cache *cache, const char *slug, struct link_cache_reservation *out);
/* Before a change is committed; takes the place of "unknown" as well. */
void link_cache_reserve_for_change(struct link_cache *cache, const char *slug, struct link_cache_reservation *out);

/*
 * Puts an entry in the place of its reservation, or of an older version. Anything else that is there is no entry any
 * more afterwards. Deleted, disabled and expired links are entries too: they say so in state. When this succeeds, Redis
 * has nothing older. ERR_CONFLICT: it holds the same or a newer version, and nothing older either. Otherwise errors of
 * redis_pool_script; ERR_UNAVAILABLE also: nobody has announced a generation yet.
 */
enum err link_cache_fill(struct link_cache *cache, const struct link_cache_reservation *reservation,
                         const struct link_entry *entry) MUST_CHECK;

/* As link_cache_fill without a reservation: for who knows of a change, however late. */
enum err link_cache_set(struct link_cache *cache, const struct link_entry *entry) MUST_CHECK;

/*
 * For who has changed many links at once: takes whatever Redis has of them, reservations as well, so that it has nothing
 * older when this succeeds. One command. Errors of redis_pool_call.
 */
enum err link_cache_drop(struct link_cache *cache, const char *const *slugs, size_t count) MUST_CHECK;

/*
 * As link_cache_set, for the relay, which knows the generation better. ERR_UNAVAILABLE also: another server than that
 * one answered, or it has come to a higher generation.
 */
enum err link_cache_tell(struct link_cache *cache, const struct link_cache_trusted *to,
                         const struct link_entry *entry) MUST_CHECK;

/*
 * Remembers for LINK_CACHE_UNKNOWN_TTL_S that PostgreSQL has no such slug, in the place of the reservation only. An
 * entry that is there goes, and so does a place that others keep for one, with or without a reservation: the link was
 * purged, and who has been told 404 must not be told 410 then.
 */
enum err link_cache_fill_unknown(struct link_cache *cache, const struct link_cache_reservation *reservation,
                                 const char *slug) MUST_CHECK;

#endif
