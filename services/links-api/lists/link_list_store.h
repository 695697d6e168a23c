/*
 * One thread at a time per connection. Lists of links in PostgreSQL: the tables links and, for the order by visits,
 * link_ranking, which is some seconds behind the counts (docs/decisions/0028-lists-of-links.md); link_counts knows how
 * many there are. Errors of pg_conn_query pass through; ERR_LIMIT: the question takes too long.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_LINK_LIST_STORE_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_LINK_LIST_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/links/link.h"
#include "lib/net/pg_conn.h"
#include "services/links-api/lists/link_query.h"

/* Of links that were chosen by more than their owner, no more are counted. */
#define LINK_LIST_STORE_COUNTED_MAX 10000
/* Of links that no index finds, none are counted among more than so many of the owner. */
#define LINK_LIST_STORE_LOOKED_AT_MAX 50000
#define LINK_LIST_STORE_MANY (-1)

struct link_list {
	size_t count;
	bool has_more;
	struct link_cursor last; /* where the last link stands */
	int64_t total;           /* on all pages; LINK_LIST_STORE_MANY: too many to be counted */
};

/*
 * links has room for query->limit. Without q, tag, state and filter the total is exact, however great it is.
 */
enum err link_list_store_read(struct pg_conn *conn, const struct link_query *query, struct link *links,
                              struct link_list *out) MUST_CHECK;

/* Links that are not DELETED, without looking at any of them. owner_id may be LINK_STORE_ANY_OWNER. */
enum err link_list_store_count(struct pg_conn *conn, int64_t owner_id, int64_t *total) MUST_CHECK;

/*
 * The links that a change by filter means, in the order of their ids, locked until the transaction ends; links has room
 * for max. ERR_LIMIT: they are more, or take too long to find; *count is max + 1 in the first case, 0 in the other.
 */
enum err link_list_store_lock(struct pg_conn *conn, const struct link_query *query, struct link *links, size_t max,
                              size_t *count) MUST_CHECK;

#endif
