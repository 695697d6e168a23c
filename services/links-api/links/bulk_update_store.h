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
 * The ids of an owner's links with a tag, ascending, DELETED ones included; at most max. ids has
 * room for max.
 */
enum err bulk_update_store_find_tagged(struct pg_conn *conn, int64_t owner_id, const char *tag,
                                       size_t max, int64_t *ids, size_t *count) MUST_CHECK;

/*
 * Locks those of the links with these ids that still exist, in the order of their ids, and reads
 * them into changes, which has room for count. ERR_LIMIT also: count exceeds BULK_UPDATE_STORE_MAX.
 */
enum err bulk_update_store_lock(struct pg_conn *conn, const int64_t *ids, size_t count,
                                struct bulk_update_store_change *changes,
                                size_t *locked) MUST_CHECK;

/*
 * Writes state, original_url, expires_at and tags of each link, increments the versions (also in
 * changes) and adds the events to the outbox. A link that becomes DELETED keeps the state before
 * for link_change_restore. Roll back after any error:
 *   ERR_CONFLICT  a link is at another version; it was not locked
 *   ERR_INVALID   a constraint or a malformed tag rejects a link
 *   ERR_LIMIT     count exceeds BULK_UPDATE_STORE_MAX
 */
enum err bulk_update_store_write(struct pg_conn *conn, struct bulk_update_store_change *changes,
                                 size_t count) MUST_CHECK;

#endif
