/*
 * One thread at a time per connection. Lists of links in PostgreSQL: the tables links, link_counts
 * (the number of links of each workspace) and link_ranking (the order by visits, some seconds behind
 * the counts; docs/decisions/0028-link-lists-and-search.md). Errors of pg_conn_query pass through.
 * ERR_LIMIT: the query exceeds the statement timeout.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_LINK_LIST_STORE_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_LINK_LIST_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/links/link.h"
#include "lib/postgres/pg_conn.h"
#include "lib/postgres/sql_column.h"
#include "services/links-api/lists/link_list_params.h"

/* The matches of a search or filter are counted up to this number. */
#define LINK_LIST_STORE_COUNTED_MAX 10000

struct link_list {
	size_t count;
	bool has_more;
	/* The position of the last link; only if count > 0. */
	struct link_list_params_cursor last;
	/* On all pages. */
	int64_t total;
	/* More than total match. */
	bool total_is_capped;
};

/*
 * Reads one page. links has room for query->limit. Without q, tag, state and filter, the total is
 * never capped.
 */
enum err link_list_store_read(struct pg_conn *conn, const struct link_list_params *query,
                              struct link *links, struct link_list *out) MUST_CHECK;

/*
 * The number of links that are not DELETED, from link_counts. workspace_id: also LINK_STORE_ANY_WORKSPACE,
 * for the links of all users.
 */
enum err link_list_store_count(struct pg_conn *conn, int64_t workspace_id,
                               int64_t *total) MUST_CHECK;

/*
 * Adds the ids of all matching links to a column (SQL_COLUMN_INT8), in any order. ERR_LIMIT: more
 * than max match (is_over is true), or the query exceeds the statement timeout.
 */
enum err link_list_store_ids(struct pg_conn *conn, const struct link_list_params *query, size_t max,
                             struct sql_column *ids, bool *is_over) MUST_CHECK;

/*
 * Locks the links that a filter matches until the transaction ends, in the order of their ids.
 * links has room for max. ERR_LIMIT: more than max links match (*count is max + 1), or the query
 * exceeds the statement timeout (*count is 0).
 */
enum err link_list_store_lock(struct pg_conn *conn, const struct link_list_params *query,
                              struct link *links, size_t max, size_t *count) MUST_CHECK;

#endif
