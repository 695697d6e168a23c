/*
 * The links that editors make and readers request, by number. Half of them have a custom slug,
 * which readers can request before the link exists. A third are rare links: readers request them in
 * one second of LINK_POOL_GROUPS only, so that a redirector has missed their changes and depends on
 * what a store returns. Safe from any thread.
 */
#ifndef WAYMARK_TESTS_CHAOS_FRESHNESS_LINK_POOL_H
#define WAYMARK_TESTS_CHAOS_FRESHNESS_LINK_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/chaos/freshness/history.h"

#define LINK_POOL_GROUPS 16

struct link_pool;

/* prefix: the beginning of the custom slugs of this run, at most 8 characters. */
struct link_pool *link_pool_new(const char *prefix);
void link_pool_free(struct link_pool *pool);

/* Returns the number of the next link to be made, or HISTORY_LINKS_MAX if there are enough. */
uint32_t link_pool_draw(struct link_pool *pool);

/* Returns whether the link has a custom slug, and fills slug with it. */
bool link_pool_custom_slug(const struct link_pool *pool, uint32_t link,
                           char slug[static HISTORY_SLUG_SIZE]);

/* Readers request the link from now on. */
void link_pool_put(struct link_pool *pool, uint32_t link, const char *slug);

/* Readers request links that were touched lately much more often than others. */
void link_pool_touch(struct link_pool *pool, uint32_t link);

/*
 * Chooses a link for a reader by its random state; second selects the rare links. Returns false if
 * there is no link.
 */
bool link_pool_choose(const struct link_pool *pool, uint64_t *random, uint64_t second,
                      uint32_t *link, char slug[static HISTORY_SLUG_SIZE]);

/* xorshift64*: a number below n. *random must not be 0. */
uint32_t link_pool_random(uint64_t *random, uint32_t n);

#endif
