/*
 * A cache of links in Redis, by the keys of their slugs (slug.h): link:{key}. Everything is best
 * effort; Redis may lose any value at any time. The cache guarantees that old values never stay and
 * never come back (docs/decisions/0012-redis-cache-generation.md):
 *
 *   - Each value has the generation of the content of Redis. A value of another generation reads as
 *     a miss. Redis is used only while it is valid (link_cache_validity.h).
 *   - An entry only replaces an older version of itself or a reservation. A reservation is made
 *     before the entry is read from PostgreSQL or committed there. Every change of the link removes
 *     it, and so do eviction and flushing. So a late writer finds no reservation and writes
 *     nothing.
 *
 * Filling after a miss:
 *
 *   link_cache_reserve(cache, key, &reservation);
 *   ... read the entry from PostgreSQL ...
 *   err = link_cache_fill(cache, &reservation, &entry);
 *
 * Unknown slugs are cached as a separate kind of value, deleted links as entries in state DELETED.
 *
 * Safe from any thread.
 */
#ifndef WAYMARK_LIB_LINKS_LINK_CACHE_H
#define WAYMARK_LIB_LINKS_LINK_CACHE_H

#include <stdint.h>

#include "lib/links/link.h"
#include "lib/links/link_cache_validity.h"
#include "lib/redis/redis_pipeline.h"
#include "lib/redis/redis_pool.h"

/* ± 10 %, so that entries cached together do not expire together. */
#define LINK_CACHE_TTL_S (24 * 3600)
#define LINK_CACHE_UNKNOWN_TTL_S 60
#define LINK_CACHE_RESERVATION_TTL_S 10

struct link_cache;

/* All members are borrowed. metrics may be NULL. */
struct link_cache_config {
	struct redis_pool *redis;
	const struct clock *clock;
	const struct log *log;
	struct metrics *metrics;
};

/* Starts to poll whether Redis is valid: 0.2 s after the relay was seen at work at the earliest. */
struct link_cache *link_cache_new(const struct link_cache_config *config);
void link_cache_free(struct link_cache *cache);

/* From now on a lower generation is invalid (link_cache_validity_require). */
void link_cache_require_generation(struct link_cache *cache, int64_t generation);

/* --- reading --- */

enum link_cache_result {
	LINK_CACHE_ENTRY,       /* out is set */
	LINK_CACHE_UNKNOWN,     /* PostgreSQL recently had no such slug */
	LINK_CACHE_MISS,        /* read from PostgreSQL */
	LINK_CACHE_UNAVAILABLE, /* Redis is down, slow or not valid: read from PostgreSQL, do not
	                           fill */
};

enum link_cache_result link_cache_get(struct link_cache *cache, const char *key,
                                      struct link_entry *out);

/* As link_cache_get, for when PostgreSQL is down (LINK_CACHE_VALIDITY_LAST_RESORT). */
enum link_cache_result link_cache_get_last_resort(struct link_cache *cache, const char *key,
                                                  struct link_entry *out);

/* entry is borrowed, and the callee may change it. It is set only with LINK_CACHE_ENTRY. */
typedef void (*link_cache_callback)(void *ctx, enum link_cache_result result,
                                    struct link_entry *entry);

/*
 * As link_cache_get, without waiting: callback is called once, later, in the thread of the
 * pipeline. ERR_UNAVAILABLE: Redis is not valid now, or not through this pipeline. After this and
 * the other errors of redis_pipeline_call, Redis was not asked and callback is not called.
 */
enum err link_cache_get_async(struct link_cache *cache, struct redis_pipeline *pipeline,
                              const char *key, link_cache_callback callback, void *ctx) MUST_CHECK;

/* --- filling --- */

/* The right to store the entry of a slug that Redis lacks. Copy it freely. All zeros: no right. */
struct link_cache_reservation {
	int64_t generation;
	char token[17];
};

/*
 * Call it before reading an entry from PostgreSQL that Redis does not have. *out is all zeros if
 * Redis is down, not valid, or has a value by now.
 */
void link_cache_reserve(struct link_cache *cache, const char *key,
                        struct link_cache_reservation *out);
/* Call it before committing a change. Replaces an unknown slug as well. */
void link_cache_reserve_for_change(struct link_cache *cache, const char *key,
                                   struct link_cache_reservation *out);

/*
 * Replaces the reservation of the entry, or an older version, by the entry. Any other value is
 * removed, and so is an older version of an entry that lacks its extras. Deleted, disabled and
 * expired links are entries too; their state says so. On success Redis has nothing older. ERR_CONFLICT: it has the same or a newer version, and nothing older
 * either. Otherwise errors of redis_pool_script; ERR_UNAVAILABLE also means that no generation has
 * been announced yet.
 */
enum err link_cache_fill(struct link_cache *cache, const struct link_cache_reservation *reservation,
                         const struct link_entry *entry) MUST_CHECK;

/* As link_cache_fill without a reservation: for callers that know of a change, however late. */
enum err link_cache_set(struct link_cache *cache, const struct link_entry *entry) MUST_CHECK;

/*
 * Deletes the values and reservations of many links after a bulk change, under each key that their
 * slugs can have, so that Redis has nothing older on success. One command. Errors of redis_pool_call.
 */
enum err link_cache_delete(struct link_cache *cache, const char *const *slugs,
                           size_t count) MUST_CHECK;

/*
 * As link_cache_set, for the relay, which knows the current epoch better. ERR_UNAVAILABLE also
 * means that another server answered, or that the server has reached a higher generation.
 */
enum err link_cache_set_in_epoch(struct link_cache *cache, const struct link_cache_epoch *epoch,
                                 const struct link_entry *entry) MUST_CHECK;

/*
 * Caches for LINK_CACHE_UNKNOWN_TTL_S that PostgreSQL has no such slug, if the reservation is still
 * in place. Otherwise it removes an entry or the reservation of another caller: the link was
 * purged, and a visitor who got 404 must not get 410 later.
 */
enum err link_cache_fill_unknown(struct link_cache *cache,
                                 const struct link_cache_reservation *reservation,
                                 const char *key) MUST_CHECK;

#endif
