/*
 * The history of a link, for its workspace and administrators: what changed, when, and by whom (table
 * link_history). Triggers of the table links write it, so no statement changes a link without a
 * trace. One thread at a time, as its request.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_HISTORY_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_HISTORY_H

#include "lib/postgres/pg_conn.h"
#include "services/links-api/http/request.h"

/*
 * Names the caller as the author of the changes of links in this transaction. Call it before the
 * first of them: a change without it has no author. Errors of pg_conn_query.
 */
enum err link_history_begin(const struct request *r, struct pg_conn *conn) MUST_CHECK;

/* The extras of a link before a change. Begin with { 0 }. */
struct link_history_extras {
	size_t len;
	/* Owned; NULL = none. */
	uint8_t *bytes;
};

/* Replaces what extras has. */
void link_history_keep_extras(struct link_history_extras *extras, const struct link_entry *entry);
void link_history_clear_extras(struct link_history_extras *extras);

/*
 * Adds to the newest change of each link what changed in its extras, which the triggers cannot read.
 * before[i] is of links[i]. Call it after link_write_update in the same transaction.
 */
enum err link_history_add_extras(struct pg_conn *conn, const struct link_history_extras *before,
                                 const struct link *links, size_t count) MUST_CHECK;

#endif
