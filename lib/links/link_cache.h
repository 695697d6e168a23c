/*
 * Safe from any thread. Links in Redis: key link:{slug}. Everything is best effort: Redis may lose any of it at any
 * time. A value carries the link's version and a set applies only if it is newer (one atomic script), so a late writer
 * can never bring an old version back; unknown slugs are kept as values of their own kind,
 * deleted links as entries whose state is DELETED.
 */
#ifndef WAYMARK_LIB_LINKS_LINK_CACHE_H
#define WAYMARK_LIB_LINKS_LINK_CACHE_H

#include <stdint.h>

#include "lib/links/link.h"
#include "lib/net/redis_pipeline.h"
#include "lib/net/redis_pool.h"

#define LINK_CACHE_TTL_S (24 * 3600) /* ± 10 %, so that entries made together do not end together */
#define LINK_CACHE_UNKNOWN_TTL_S 60

struct link_cache;

struct link_cache *link_cache_new(struct redis_pool *redis, const struct log *log);
void link_cache_free(struct link_cache *cache);

enum link_cache_answer {
	LINK_CACHE_ENTRY,   /* out is filled */
	LINK_CACHE_UNKNOWN, /* PostgreSQL said recently that there is no such slug */
	LINK_CACHE_MISS,    /* ask PostgreSQL */
	LINK_CACHE_AWAY,    /* Redis is away or too slow: ask PostgreSQL, do not fill */
};

enum link_cache_answer link_cache_get(struct link_cache *cache, const char *slug, struct link_entry *out);

/* entry is borrowed (the callee may change it), and only there with LINK_CACHE_ENTRY. */
typedef void (*link_cache_told)(void *ctx, enum link_cache_answer answer, struct link_entry *entry);

/*
 * As link_cache_get, without waiting: told is called once, later, in the pipeline's thread. Errors of redis_pipeline_call:
 * Redis was not asked, told is not called.
 */
enum err link_cache_ask(struct link_cache *cache, struct redis_pipeline *pipeline, const char *slug,
                        link_cache_told told, void *ctx) MUST_CHECK;

/* Sets if newer. Deleted, disabled and expired links are entries too: they say so in state. ERR_CONFLICT: Redis holds the
 * same or a newer version. */
enum err link_cache_set(struct link_cache *cache, const struct link_entry *entry) MUST_CHECK;

/* Remembers for LINK_CACHE_UNKNOWN_TTL_S that PostgreSQL has no such slug, unless an entry is there. */
enum err link_cache_set_unknown(struct link_cache *cache, const char *slug) MUST_CHECK;

#endif
