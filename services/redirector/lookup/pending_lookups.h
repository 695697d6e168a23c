/*
 * Safe from any thread. The single-flight table of lookups: at most one lookup of a slug's key
 * (lib/links/slug.h) runs at a time.
 *
 * The first caller that misses a slug becomes the leader and queries the stores. Callers that ask
 * for the same slug meanwhile join as waiters and receive the same result, so a stampede on a cold
 * slug costs one query.
 *
 * A result does not always fit every waiter, because a waiter may join after the store was queried:
 *   - ERR_NOT_FOUND and ERR_CONFLICT hold only for waiters that joined before the query. A later waiter may already
 *     have seen the 201 of the link's creation.
 *   - OK holds for waiters that joined up to PENDING_LOOKUPS_RESULT_MAX_AGE_US after the query. A
 *     later waiter may have seen a newer version.
 *   - Other errors hold for all waiters.
 * The remaining waiters stay, and the leader queries again for them.
 *
 *       lookup = pending_lookups_join(table, key, len, now, on_done, ctx, waiter);
 *       if (!lookup)
 *               return;                           // another leader completes it
 *       do {
 *               pending_lookups_start_query(table, lookup, now);
 *               result = query_the_stores(lookup->key, &entry);
 *       } while (!pending_lookups_complete(table, lookup, result, &entry));
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_LOOKUP_PENDING_LOOKUPS_H
#define WAYMARK_SERVICES_REDIRECTOR_LOOKUP_PENDING_LOOKUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/hash_table.h"
#include "lib/links/link.h"

/* Half of the second within which every change must be visible. */
#define PENDING_LOOKUPS_RESULT_MAX_AGE_US (500 * CLOCK_US_PER_MS)

struct pending_lookups;

/* Called once per waiter. entry is borrowed and set only with OK. */
typedef void (*pending_lookups_callback)(void *ctx, void *waiter, enum err result,
                                         const struct link_entry *entry);

/* Everything but key and started_us belongs to the table. Times are steady. */
struct pending_lookup {
	UT_hash_handle hh;
	/* Newest first. */
	struct lookup_waiter *waiters;
	size_t waiter_count;
	/* Waiters when the current query started, and when that was. */
	size_t joined_before_query;
	int64_t queried_us;
	/* The leader's: start of the lookup, or of its latest repetition. */
	int64_t started_us;
	char key[SLUG_KEY_SIZE];
};

struct pending_lookups *pending_lookups_new(void);
/* Blocks until no lookup is pending. The caller guarantees that nothing joins any more. */
void pending_lookups_free(struct pending_lookups *table);

/*
 * Adds a waiter to the lookup of key. NULL: a lookup was pending already and its leader will
 * complete it. Otherwise the caller is the leader: it queries the stores and calls
 * pending_lookups_complete. key_len is less than SLUG_KEY_SIZE.
 */
struct pending_lookup *pending_lookups_join(struct pending_lookups *table, const char *key,
                                            size_t key_len, int64_t now_us,
                                            pending_lookups_callback on_done, void *ctx,
                                            void *waiter);

/* Call it right before each query of a store: waiters that join from here on are late. */
void pending_lookups_start_query(struct pending_lookups *table, struct pending_lookup *lookup,
                                 int64_t now_us);

/*
 * Calls on_done of each waiter for which the result holds. True: no waiter is left and the lookup
 * is freed. False: late waiters remain and the leader must query again.
 */
bool pending_lookups_complete(struct pending_lookups *table, struct pending_lookup *lookup,
                              enum err result, const struct link_entry *entry) MUST_CHECK;

/* Lookups that are pending now. */
size_t pending_lookups_count(struct pending_lookups *table);

#endif
