/*
 * The history of links: what changed, when, and by whom (table link_history). Triggers of the table
 * links write it, so no statement changes a link without a trace. One thread at a time per
 * connection. Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_HISTORY_STORE_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_HISTORY_STORE_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/json/json.h"
#include "lib/postgres/pg_conn.h"

/*
 * Names the author of the changes of links in this transaction. Call it before the first of them.
 * key_id 0: not with an API key.
 */
enum err link_history_store_set_actor(struct pg_conn *conn, int64_t actor_id,
                                      int64_t key_id) MUST_CHECK;

struct link_history_query {
	int64_t link_id;
	/* Of the link. */
	int64_t owner_id;
	/* Only changes to lower versions; INT64_MAX = from the newest. */
	int64_t before;
	int64_t limit;
};

/*
 * Newest first, as JSON: [{at, change, by: {type, key_id, key_name}, fields: [{name, from, to}]}].
 * The caller owns the result. last_version: that of the last change if the page is full, so that
 * more may follow; otherwise 0.
 */
enum err link_history_store_list(struct pg_conn *conn, const struct link_history_query *query,
                                 struct json **changes, int64_t *last_version) MUST_CHECK;

#endif
