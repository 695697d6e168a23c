/*
 * One thread at a time per connection. Updates links in bulk: one statement each for the tables
 * links and outbox. The caller begins and commits the transaction. Errors of pg_conn_query pass
 * through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_BULK_UPDATE_STORE_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_BULK_UPDATE_STORE_H

#include <stddef.h>

#include "lib/links/link.h"
#include "lib/postgres/pg_conn.h"

#define BULK_UPDATE_STORE_MAX 1000

/* A link that was locked and edited, and the change to record. */
struct bulk_update_store_change {
	struct link link;
	enum link_change change;
};

/*
 * Writes state, original_url and tags of each link, increments the versions (also in changes) and
 * adds the events to the outbox. Roll back after any error:
 *   ERR_CONFLICT  a link is at another version; it was not locked
 *   ERR_INVALID   a constraint or a malformed tag rejects a link
 *   ERR_LIMIT     count exceeds BULK_UPDATE_STORE_MAX
 */
enum err bulk_update_store_write(struct pg_conn *conn, struct bulk_update_store_change *changes,
                                 size_t count) MUST_CHECK;

#endif
