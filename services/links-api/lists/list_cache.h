/*
 * Safe from any thread. Pages of owners' lists in Redis, for LIST_CACHE_TTL_S, so that PostgreSQL neither sorts nor
 * counts again what has not changed. An owner never sees a page that is older than a change he was told of
 * (docs/decisions/0014-lists-in-redis.md):
 *
 *   - Key list_generation:{user id} is a number drawn at random, list:{generation of links}:{user id}:{that
 *     number}:{page}:{limit} a page. Each change of a link takes its owner's number away; the next reader draws another
 *     one, and whatever stands under the old one is never asked for again. So nothing comes back when Redis loses a number.
 *   - A page is stored under the number that was read before PostgreSQL was asked.
 *   - Redis is asked only while it can be trusted (link_cache_trust.h), and the generation of its links is in the key: a
 *     change that could not be told makes all pages old.
 *
 * Kept are links and their total (list_page.h): states by the clock and counts of visits belong to the answer.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_LIST_CACHE_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_LIST_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/metrics.h"
#include "lib/links/link_cache.h"
#include "lib/net/redis_pool.h"
#include "services/links-api/lists/link_query.h"
#include "services/links-api/lists/list_page.h"

#define LIST_CACHE_TTL_S 300
#define LIST_CACHE_NUMBER_TTL_S (24 * 3600)
#define LIST_CACHE_KEY_SIZE 128

struct list_cache;

/* The pointers are borrowed; metrics may be NULL. links: of the same Redis. */
struct list_cache *list_cache_new(struct redis_pool *redis, const struct link_cache *links, struct metrics *metrics);
void list_cache_free(struct list_cache *cache);

/* Where a page that PostgreSQL is asked for now may be put; all zero: nowhere. */
struct list_cache_place {
	char key[LIST_CACHE_KEY_SIZE];
};

/*
 * True: out is the page, and has been current since the call began. False: ask PostgreSQL; *place is for its answer.
 * Waits for Redis for two calls at most.
 */
bool list_cache_get(struct list_cache *cache, int64_t user_id, const struct link_query *query, struct list_page *out,
                    struct list_cache_place *place);

/* Best effort. Pages of more than LIST_PAGE_BYTES_MAX, and those beyond the last one, are not kept. */
void list_cache_put(struct list_cache *cache, const struct list_cache_place *place, const struct list_page *page);

/*
 * After a change of a link was committed: no page of before is served any more. owner_id 0: nobody's link is on no
 * list. Works when Redis' memory is full. Errors of redis_pool_call.
 */
enum err list_cache_forget(struct list_cache *cache, int64_t owner_id) MUST_CHECK;

/* As list_cache_forget, for the relay. ERR_UNAVAILABLE also: another server than that one answered. */
enum err list_cache_tell(struct list_cache *cache, uint64_t server, int64_t owner_id) MUST_CHECK;

#endif
