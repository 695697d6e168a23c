/*
 * Safe from any thread. The links that writers make and readers ask for, by number. Half of them have a slug that is
 * known before they are made, so that readers can ask too early. A third of them is shy: nobody asks for one but in one
 * second of LINK_POOL_GROUPS, so that a redirector does not know what happened to it meanwhile and believes what a store
 * tells.
 */
#ifndef WAYMARK_TESTS_CHAOS_FRESHNESS_LINK_POOL_H
#define WAYMARK_TESTS_CHAOS_FRESHNESS_LINK_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/chaos/freshness/history.h"

#define LINK_POOL_GROUPS 16

struct link_pool;

/* prefix: what begins the custom slugs of this run; at most 8 characters. */
struct link_pool *link_pool_new(const char *prefix);
void link_pool_free(struct link_pool *pool);

/* The number of the next link to be made; HISTORY_LINKS_MAX: there are enough. */
uint32_t link_pool_draw(struct link_pool *pool);

/* Whether the link has a custom slug: slug is then filled. */
bool link_pool_custom_slug(const struct link_pool *pool, uint32_t link, char slug[static HISTORY_SLUG_SIZE]);

/* From now on readers ask for it. */
void link_pool_put(struct link_pool *pool, uint32_t link, const char *slug);

/* Readers ask for the links that were touched last much more often than for others. */
void link_pool_touch(struct link_pool *pool, uint32_t link);

/*
 * A link for a reader, chosen by his own random state; second says which of the shy links he may have. false: there is
 * none.
 */
bool link_pool_choose(const struct link_pool *pool, uint64_t *random, uint64_t second, uint32_t *link,
                  char slug[static HISTORY_SLUG_SIZE]);

/* xorshift64*: below n; *random is not 0. */
uint32_t link_pool_random(uint64_t *random, uint32_t n);

#endif
