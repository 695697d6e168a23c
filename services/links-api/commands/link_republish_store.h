/*
 * Publishes the current state of every link again, in batches, for subscribers of a topic that has
 * lost it (docs/recovery.md). Nothing of a link changes, and Redis is not written: it has this
 * version, a newer one or none. Errors of pg_conn_query pass through.
 *
 * One thread at a time per connection.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_COMMANDS_LINK_REPUBLISH_STORE_H
#define WAYMARK_SERVICES_LINKS_API_COMMANDS_LINK_REPUBLISH_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/postgres/pg_conn.h"

#define LINK_REPUBLISH_STORE_BATCH_MAX 1000

/* Initialise with 0. */
struct link_republish_cursor {
	/* The next batch begins after this link. */
	int64_t link_id;
	/* The newest row of the outbox when the last batch was added. */
	int64_t outbox_id;
	/* Links of the last batch; 0: there are no more. */
	size_t count;
};

/*
 * Adds events LINK_CHANGE_REPUBLISHED of the next links to the outbox, at low priority. Call it
 * inside a transaction. It advances cursor; the caller must restore the old value if it cannot
 * commit.
 */
enum err link_republish_store_next(struct pg_conn *conn,
                                   struct link_republish_cursor *cursor) MUST_CHECK;

/* Sets *is_waiting if a row of the outbox up to this ID waits for Kafka. */
enum err link_republish_store_is_waiting(struct pg_conn *conn, int64_t outbox_id,
                                         bool *is_waiting) MUST_CHECK;

#endif
