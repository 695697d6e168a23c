/*
 * Deletes all links of an account that is being closed, in batches. A cursor walks through the
 * links in the order of creation, so the cost of a batch depends neither on the number of links nor
 * on how many are DELETED already. Errors of pg_conn_query pass through.
 *
 * One thread at a time per connection.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_DELETION_STORE_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_DELETION_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/links/slug.h"
#include "lib/postgres/pg_conn.h"

#define LINK_DELETION_STORE_BATCH_MAX 500

/* Initialise with { .owner_id = … }. */
struct link_deletion_cursor {
	int64_t owner_id;
	/* The next batch begins after this link. */
	int64_t created_at_us, id;
	bool is_over;
};

/* The links that one batch has deleted. */
struct link_deletion_batch {
	size_t count;
	int64_t ids[LINK_DELETION_STORE_BATCH_MAX];
	/* Of the last event in the outbox; "" if none was deleted. */
	char last_slug[SLUG_SIZE];
};

/*
 * Deletes those of the next LINK_DELETION_STORE_BATCH_MAX links that are not DELETED yet, as the
 * DELETE endpoint does, and adds their events. Call it inside a transaction. It advances cursor;
 * the caller must restore the old value if it cannot commit.
 */
enum err link_deletion_store_next(struct pg_conn *conn, struct link_deletion_cursor *cursor,
                                  struct link_deletion_batch *batch) MUST_CHECK;

#endif
