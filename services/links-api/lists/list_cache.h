/*
 * Safe from any thread. Caches pages of users' link lists in Redis for LIST_CACHE_TTL_S, so that
 * PostgreSQL does not sort and count unchanged lists again. An owner never sees a page that is
 * older than an acknowledged change (docs/decisions/0014-link-list-cache.md):
 *
 *   - The key list_generation:{user id} holds a random number. The key list:{generation of the link
 *     cache}:{user id}:{that number}:{page}:{limit} holds a page. A change of a link deletes its
 *     owner's number. The next reader draws a new one, so that pages under the old number are never
 *     read again, even if Redis loses a number.
 *   - A page is stored under the number that was read before PostgreSQL was queried.
 *   - Redis is used only while its content is valid (link_cache_validity.h). The generation of the
 *     link cache is part of the key: a change that could not be written to Redis invalidates all
 *     pages.
 *
 * A cached page holds the links and their total (list_page.h). Visit counts and time-dependent
 * states are added to each response.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_LIST_CACHE_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_LIST_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/metrics.h"
#include "lib/links/link_cache.h"
#include "lib/redis/redis_pool.h"
#include "services/links-api/lists/link_list_params.h"
#include "services/links-api/lists/list_page.h"

#define LIST_CACHE_TTL_S 300
#define LIST_CACHE_NUMBER_TTL_S (24 * 3600)
#define LIST_CACHE_KEY_SIZE 128

struct list_cache;

/* Borrows the pointers; metrics may be NULL. links: the link cache in the same Redis. */
struct list_cache *list_cache_new(struct redis_pool *redis, const struct link_cache *links,
                                  struct metrics *metrics);
void list_cache_free(struct list_cache *cache);

/* Where a page that is read from PostgreSQL now may be stored. All zero = do not store it. */
struct list_cache_slot {
	char key[LIST_CACHE_KEY_SIZE];
};

/*
 * True: out is the page, which was current when the call began. False: query PostgreSQL and pass
 * the result to list_cache_put with *slot. Makes at most two calls to Redis.
 */
bool list_cache_get(struct list_cache *cache, int64_t user_id,
                    const struct link_list_params *params, struct list_page *out,
                    struct list_cache_slot *slot);

/* Best effort. Does not store pages larger than LIST_PAGE_BYTES_MAX or beyond the last page. */
void list_cache_put(struct list_cache *cache, const struct list_cache_slot *slot,
                    const struct list_page *page);

/*
 * Invalidates all cached pages of an owner. Call after the commit of a change. owner_id 0 = the
 * link has no owner and is on no list. Works when Redis is out of memory. Errors of
 * redis_pool_call.
 */
enum err list_cache_invalidate(struct list_cache *cache, int64_t owner_id) MUST_CHECK;

/*
 * As list_cache_invalidate, for the outbox relay. ERR_UNAVAILABLE also: another Redis server
 * answered.
 */
enum err list_cache_invalidate_on(struct list_cache *cache, uint64_t server,
                                  int64_t owner_id) MUST_CHECK;

#endif
