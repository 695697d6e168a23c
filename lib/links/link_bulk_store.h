/*
 * One thread at a time per connection. Many links made at once: the tables links and outbox, one statement each. The
 * caller begins and commits. Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_LIB_LINKS_LINK_BULK_STORE_H
#define WAYMARK_LIB_LINKS_LINK_BULK_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/links/link_store.h"

#define LINK_BULK_STORE_MAX 1000

/*
 * Makes PERMANENT links of one owner, in an order of slugs, so that no two callers wait for each other in a circle; in
 * lists they stand in the order given. is_made[i] says whether news[i] was made, as links[i]; false: its slug is taken,
 * or was once. news: distinct slugs, owner_id that of the first, no claim tokens.
 *   ERR_LIMIT      more than LINK_BULK_STORE_MAX
 *   ERR_CONFLICT   somebody purged a link of such a slug just now, or two transactions waited for each other: roll back
 *                  and begin anew
 *   ERR_NOT_FOUND  there is no such owner
 *   ERR_INVALID    a constraint or a tag refuses one of them
 * After each error the transaction can only be rolled back.
 */
enum err link_bulk_store_create(struct pg_conn *conn, const struct link_store_new *news, size_t count,
                                struct link *links, bool *is_made) MUST_CHECK;

#endif
