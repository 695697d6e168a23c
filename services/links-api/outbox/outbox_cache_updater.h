/*
 * Applies outbox rows to the link cache in Redis. The janitor's changes reach Redis only this way.
 * A change that its writer could not put into Redis is applied here as soon as Redis is back. Kafka
 * does not wait for that. Not thread-safe.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_CACHE_UPDATER_H
#define WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_CACHE_UPDATER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/links/link_cache.h"
#include "lib/links/outbox.h"
#include "lib/postgres/pg_conn.h"

/* Rows that are read together. */
#define OUTBOX_CACHE_UPDATER_ROWS_MAX 256

/* The pointers are borrowed. */
struct outbox_cache_updater {
	struct link_cache *cache;
	const struct clock *clock;
	/* Of the cache, and the server it is valid for (outbox_generation.h). 0 = not known. */
	int64_t generation;
	uint64_t server;
};

/*
 * Applies each row of the batch that is not cached yet, in order. Sets row.cached once Redis has
 * that version or a newer one. Starts no row after until_steady_us, and stops when Redis is down. A
 * purged link becomes DELETED in Redis (404). A row that cannot be decoded counts as cached.
 */
void outbox_cache_updater_apply(const struct outbox_cache_updater *updater,
                                struct outbox_batch *batch, int64_t until_steady_us);

/*
 * Applies the uncached rows of the table, oldest first, until none is left (is_complete), Redis is
 * down or until_steady_us has passed.
 */
enum err outbox_cache_updater_catch_up(const struct outbox_cache_updater *updater,
                                       struct pg_conn *conn, int64_t until_steady_us,
                                       bool *is_complete) MUST_CHECK;

#endif
