/*
 * Safe from any thread. The links that writers make and readers ask for, by number. Half of them have a slug that is
 * known before they are made, so that readers can ask too early. A third of them is shy: nobody asks for one but in one
 * second of SHELF_GROUPS, so that a redirector does not know what happened to it meanwhile and believes what a store
 * tells.
 */
#ifndef WAYMARK_TESTS_CHAOS_FRESHNESS_SHELF_H
#define WAYMARK_TESTS_CHAOS_FRESHNESS_SHELF_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/chaos/freshness/history.h"

#define SHELF_GROUPS 16

struct shelf;

/* prefix: what begins the custom slugs of this run; at most 8 characters. */
struct shelf *shelf_new(const char *prefix);
void shelf_free(struct shelf *shelf);

/* The number of the next link to be made; HISTORY_LINKS_MAX: there are enough. */
uint32_t shelf_draw(struct shelf *shelf);

/* Whether the link has a custom slug: slug is then filled. */
bool shelf_custom_slug(const struct shelf *shelf, uint32_t link, char slug[static HISTORY_SLUG_SIZE]);

/* From now on readers ask for it. */
void shelf_put(struct shelf *shelf, uint32_t link, const char *slug);

/* Readers ask for the links that were touched last much more often than for others. */
void shelf_touch(struct shelf *shelf, uint32_t link);

/*
 * A link for a reader, chosen by his own random state; second says which of the shy links he may have. false: there is
 * none.
 */
bool shelf_choose(const struct shelf *shelf, uint64_t *random, uint64_t second, uint32_t *link,
                  char slug[static HISTORY_SLUG_SIZE]);

/* xorshift64*: below n; *random is not 0. */
uint32_t shelf_random(uint64_t *random, uint32_t n);

#endif
