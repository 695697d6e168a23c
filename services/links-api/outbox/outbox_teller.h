/*
 * One thread at a time. Tells Redis the state of links from the outbox's LinkEvents, and that their owners' lists are
 * others now: the janitor's changes come there by no other way, and what a writer could not tell Redis is told here, as
 * late as Redis comes back. Kafka does not wait for any of it.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_TELLER_H
#define WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_TELLER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/links/link_cache.h"
#include "lib/links/outbox.h"
#include "lib/net/pg_conn.h"
#include "services/links-api/lists/list_cache.h"

/* Rows that are read together. */
#define OUTBOX_TELLER_ROWS_MAX 256

/* The pointers are borrowed. */
struct outbox_teller {
	struct link_cache *cache;
	struct list_cache *lists;
	const struct clock *clock;
	int64_t generation; /* of Redis' content, which progress marks carry, and the server it was raised for (outbox_generation.h); 0 = not known */
	uint64_t server;
};

/*
 * Tells Redis each row of the batch that is not cached yet, in order, and sets cached where Redis has that version or a
 * newer one, and no list of before, now. Begins none after steady_us, and stops when Redis is away. A purged link is
 * DELETED in Redis: 404; an event that nobody here understands has nothing for Redis and counts as cached.
 */
void outbox_teller_tell(const struct outbox_teller *teller, struct outbox_batch *batch, int64_t until_steady_us);

/*
 * Tells Redis what waits for it in the table, oldest first, until nothing does (is_all_told), Redis is away, or it is
 * steady_us.
 */
enum err outbox_teller_repair(const struct outbox_teller *teller, struct pg_conn *conn, int64_t until_steady_us,
                              bool *is_all_told) MUST_CHECK;

#endif
