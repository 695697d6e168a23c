/*
 * Creates many links at once: one statement for the table links and one for the outbox. The caller
 * begins and commits the transaction. Errors of pg_conn_query pass through.
 *
 * One thread at a time per connection.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_BULK_STORE_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_BULK_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/links/link_store.h"

#define LINK_BULK_STORE_MAX 1000

/*
 * Creates PERMANENT links of one owner. It locks slugs in a fixed order, so that concurrent callers
 * never deadlock; lists show the links in the order given. is_created[i] is true if new_links[i]
 * was created, as links[i]. If not, its slug is taken or was used before. new_links must have
 * distinct slugs, no claim tokens, and the owner_id of the first one.
 *   ERR_LIMIT      more than LINK_BULK_STORE_MAX links
 *   ERR_CONFLICT   a link with one of the slugs was purged just now, or two transactions
 *                  deadlocked: roll back and try again
 *   ERR_NOT_FOUND  the owner does not exist
 *   ERR_INVALID    a constraint or a tag rejects one of the links
 * After any error the transaction can only be rolled back.
 */
enum err link_bulk_store_create(struct pg_conn *conn, const struct link_store_new *new_links,
                                size_t count, struct link *links, bool *is_created) MUST_CHECK;

#endif
