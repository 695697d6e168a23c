/*
 * One thread at a time. Builds the SQL statements that list, count and lock links.
 * link_list_store.c decides which of them to run.
 *
 * Each statement is built for its query and not prepared: conditions that the query does not need
 * are left out. Values are always parameters.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_LINK_LIST_SQL_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_LINK_LIST_SQL_H

#include "lib/base/strbuf.h"
#include "lib/links/link_row.h"
#include "lib/postgres/pg_conn.h"
#include "services/links-api/lists/link_list_params.h"
#include "services/links-api/lists/link_search.h"
#include "services/links-api/lists/sql_texts.h"

/* Columns after those of the link: the sort key, and the count of link_list_sql_collect. */
#define LINK_LIST_SQL_KEY_COLUMN LINK_ROW_COLUMN_COUNT
#define LINK_LIST_SQL_COUNT_COLUMN (LINK_LIST_SQL_KEY_COLUMN + 1)

struct link_list_sql {
	/* Borrowed; NULL = do not use the trigram index. */
	const struct link_search *search;
	struct strbuf text;
	struct pg_params params;
	struct sql_texts texts;
};

void link_list_sql_init(struct link_list_sql *sql, const struct link_search *search);
void link_list_sql_clear(struct link_list_sql *sql);

/* Runs the statement. ERR_LIMIT: too long, or statement timeout. Else as pg_conn_query_once. */
enum err link_list_sql_run(struct link_list_sql *sql, struct pg_conn *conn,
                           struct pg_result **rows) MUST_CHECK;

/* Whether the sort order uses the table link_ranking. */
bool link_list_sql_uses_ranking(const struct link_list_params *query);

/* Whether the sort key is a time; otherwise it is a count. */
bool link_list_sql_sorts_by_time(const struct link_list_params *query);

/*
 * The two statements that read one page. Each returns one link more than the page holds, to show
 * whether another page follows.
 *
 * Scan: reads links in sort order until the page is full.
 */
void link_list_sql_scan(struct link_list_sql *sql, const struct link_list_params *query);

/*
 * Collect: finds all matching links, at most counted_max + 1, counts them and sorts. If more than
 * page_max match, the result is one row with the count alone. That is also the result of an empty
 * page.
 */
void link_list_sql_collect(struct link_list_sql *sql, const struct link_list_params *query,
                           int64_t counted_max, int64_t page_max);

/* Counts the matching links, at most max. */
void link_list_sql_count(struct link_list_sql *sql, const struct link_list_params *query,
                         size_t max);

/* The ids of the matching links, at most max. */
void link_list_sql_ids(struct link_list_sql *sql, const struct link_list_params *query, size_t max);

/* Locks the matching links in the order of their ids, at most max. */
void link_list_sql_lock(struct link_list_sql *sql, const struct link_list_params *query,
                        size_t max);

#endif
