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

#endif
