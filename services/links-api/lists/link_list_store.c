/*
 * How a page is found. PostgreSQL cannot estimate how many links match a search text, so links-api
 * chooses the statement:
 *
 *   scan     Read in sort order until the page is full. For lists without conditions, and where so
 *            many links match that the next page is never far.
 *   collect  Find the matches of a search or filter, with an index if it helps, count them and
 *            sort. It stops at 10,001; the total is capped then, and a scan finds the page.
 */
#include "services/links-api/lists/link_list_store.h"

#include <inttypes.h>
#include <string.h>

#include "lib/links/link_row.h"
#include "lib/links/link_store.h"
#include "services/links-api/lists/link_search.h"

#define TEXT_BYTES_MAX (32 * 1024)
/* Columns after those of the link: the sort key, and the count of write_collect. */
#define KEY_COLUMN LINK_ROW_COLUMN_COUNT
#define COUNT_COLUMN (KEY_COLUMN + 1)
/* With more rows than this in link_counts, a workspace's rows are merged into one. */
#define COUNT_ROWS_MAX 64
/* Sorting more matches by visits takes longer than a scan in that order. */
#define RANKED_MAX 2000
/* Up to this position, a page is close enough to the start for a scan. */
#define SHALLOW_MAX 100

/*
 * A statement is built for its query and not prepared: conditions that the query does not need are
 * left out. Values are always parameters.
 */
struct statement {
	/* Borrowed; NULL = do not use the trigram index. */
	const struct link_search *search;
	struct strbuf text;
	struct pg_params params;
	struct sql_texts texts;
};

static void statement_init(struct statement *sql, const struct link_search *search)
{
	*sql = (struct statement){ .search = search };
	strbuf_init(&sql->text, TEXT_BYTES_MAX);
}

/* Also ends the statement. ERR_LIMIT: too long, or statement timeout. Else as pg_conn_query_once. */
static enum err statement_run(struct statement *sql, struct pg_conn *conn, struct pg_result **rows)
{
	enum err err = strbuf_status(&sql->text);
	if (err == OK)
		err = pg_conn_query_once(conn, sql->text.data, &sql->params, rows);
	strbuf_clear(&sql->text);
	sql_texts_clear(&sql->texts);
	return err;
}

#define WRITE(sql, ...) strbuf_add_format(&(sql)->text, __VA_ARGS__)

/* --- which links --- */

static void write_search(struct statement *sql, const struct link_list_params *query)
{
	link_search_begin_or_id(query->alias_link_id, &sql->text);
	if (sql->search)
		link_search_add_index(sql->search, &sql->text, &sql->params, &sql->texts);
	for (const char *word = query->words; *word; word += strlen(word) + 1)
		link_search_add_exact(word, &sql->text, &sql->params, &sql->texts);
	link_search_end_or_id(query->alias_link_id, &sql->text);
}

/*
 * column: the workspace column of the table whose index the statement should use. NULL lets PostgreSQL
 * choose: it gets a condition on both tables.
 */
static void write_workspace(struct statement *sql, const struct link_list_params *query,
                            bool with_ranking, const char *column)
{
	if (query->workspace_id == LINK_STORE_ANY_WORKSPACE)
		return;
	pg_params_int(&sql->params, query->workspace_id);
	WRITE(sql, " AND %s = $%d", column ? column : "workspace_id", sql->params.count);
	if (!column && with_ranking)
		WRITE(sql, " AND link_workspace = $%d", sql->params.count);
}

static void write_conditions(struct statement *sql, const struct link_list_params *query)
{
	link_search_add_state(query->state, query->is_used_up, &sql->text);
	if (*query->tag) {
		pg_params_text(&sql->params, query->tag);
		WRITE(sql, " AND tags @> ARRAY[$%d::text]", sql->params.count);
	}
	if (query->key_tags) {
		pg_params_text(&sql->params, query->key_tags);
		WRITE(sql, " AND tags && " LINK_ROW_TAGS_FROM_TEXT("$%d::text"), sql->params.count);
	}
	if (*query->words)
		write_search(sql, query);
	if (query->has_filter) {
		WRITE(sql, " AND ");
		nql_sql_add(&query->filter, &sql->text, &sql->params, &sql->texts);
	}
}

/* FROM and WHERE. workspace_column: as column of write_workspace. */
static void write_links(struct statement *sql, const struct link_list_params *query,
                        bool with_ranking, const char *workspace_column)
{
	WRITE(sql, " FROM links%s WHERE true",
	      with_ranking ? " JOIN link_ranking ON link_id = id" : "");
	write_workspace(sql, query, with_ranking, workspace_column);
	write_conditions(sql, query);
}

/* --- in which order --- */

struct order {
	const char *key, *id, *owner;
	/* Columns of link_ranking. */
	bool is_ranking;
	bool is_time;
};

static const struct order *order_of(const struct link_list_params *query)
{
	static const struct order orders[] = {
		[LINK_LIST_PARAMS_CREATED_AT] = { "created_at", "id", "workspace_id", false, true },
		[LINK_LIST_PARAMS_HUMANS] = { "visits", "link_id", "link_workspace", true, false },
		[LINK_LIST_PARAMS_LAST_VISITED_AT] = { "visited_at", "link_id", "link_workspace",
		                                       true, true },
	};
	return &orders[query->sort];
}

static void write_cursor(struct statement *sql, const struct link_list_params *query,
                         const char *key, const char *id)
{
	const struct link_list_params_cursor *after = &query->after;
	if (!order_of(query)->is_time)
		pg_params_int(&sql->params, after->key);
	else if (after->key == INT64_MIN)
		pg_params_text(&sql->params, "-infinity");
	else
		pg_params_time(&sql->params, after->key);
	pg_params_int(&sql->params, after->id);
	WRITE(sql, " AND (%s, %s) %s ($%d, $%d)", key, id, query->is_ascending ? ">" : "<",
	      sql->params.count - 1, sql->params.count);
}

static void write_order(struct statement *sql, const struct link_list_params *query,
                        const char *key, const char *id)
{
	const char *direction = query->is_ascending ? "ASC" : "DESC";
	WRITE(sql, " ORDER BY %s %s, %s %s", key, direction, id, direction);
}

/* Continues a WHERE clause: cursor, order, and a limit of one link more than the page holds. */
static void write_page(struct statement *sql, const struct link_list_params *query, const char *key,
                       const char *id)
{
	if (query->page == 0)
		write_cursor(sql, query, key, id);
	write_order(sql, query, key, id);
	pg_params_int(&sql->params, query->limit + 1);
	WRITE(sql, " LIMIT $%d", sql->params.count);
	if (query->page > 1) {
		pg_params_int(&sql->params, (query->page - 1) * query->limit);
		WRITE(sql, " OFFSET $%d", sql->params.count);
	}
}

/* --- the statements of a page --- */

/*
 * Reads links in sort order until the page is full. The two statements that read a page return one
 * link more than it holds, to show whether another page follows.
 */
static void write_scan(struct statement *sql, const struct link_list_params *query)
{
	const struct order *order = order_of(query);
	WRITE(sql, "SELECT " LINK_ROW_COLUMNS ", %s", order->key);
	write_links(sql, query, order->is_ranking || nql_needs_ranking(&query->filter),
	            order->owner);
	write_page(sql, query, order->key, order->id);
}

/*
 * The collected ids with their sort keys. OFFSET 0 makes PostgreSQL look up the ranking link by
 * link; otherwise it would read the ranking of all links.
 */
static void write_collected(struct statement *sql, const struct link_list_params *query,
                            int64_t page_max)
{
	const struct order *order = order_of(query);
	WRITE(sql, "(SELECT chosen_id, ");
	if (order->is_ranking)
		WRITE(sql,
		      "ranking_key AS chosen_key FROM chosen, LATERAL (SELECT %s AS ranking_key FROM link_ranking "
		      "WHERE link_id = chosen_id OFFSET 0) AS ranking",
		      order->key);
	else
		WRITE(sql, "chosen_key FROM chosen");
	WRITE(sql, " WHERE (SELECT n FROM counted) <= %" PRId64 ") AS collected", page_max);
}

/*
 * Finds all matching links, at most LINK_LIST_STORE_COUNTED_MAX + 1, counts them and sorts. If more
 * than page_max match, the result is one row with the count alone. That is also the result of an
 * empty page.
 */
static void write_collect(struct statement *sql, const struct link_list_params *query,
                          int64_t page_max)
{
	WRITE(sql, "WITH chosen AS MATERIALIZED (SELECT id AS chosen_id, created_at AS chosen_key");
	write_links(sql, query, nql_needs_ranking(&query->filter), NULL);
	WRITE(sql,
	      " LIMIT %" PRId64 "), counted AS MATERIALIZED (SELECT count(*) AS n FROM chosen) "
	      "SELECT " LINK_ROW_COLUMNS ", chosen_key, counted.n FROM counted LEFT JOIN "
	      "(SELECT * FROM (SELECT * FROM ",
	      (int64_t)LINK_LIST_STORE_COUNTED_MAX + 1);
	write_collected(sql, query, page_max);
	WRITE(sql, " WHERE true");
	write_page(sql, query, "chosen_key", "chosen_id");
	WRITE(sql, ") AS shown JOIN links ON id = chosen_id) AS page ON true");
	write_order(sql, query, "chosen_key", "chosen_id");
}

/* --- reading a page --- */

static enum err read_links(const struct pg_result *rows, size_t count, struct link *links)
{
	enum err err = OK;
	for (size_t i = 0; err == OK && i < count; i++)
		err = link_row_read(rows, i, &links[i]);
	return err;
}

static enum err read_page(const struct pg_result *rows, const struct link_list_params *query,
                          struct link *links, struct link_list *out)
{
	/* An empty page of write_collect is one row with the count alone. */
	size_t found = pg_result_is_null(rows, 0, 0) ? 0 : pg_result_count(rows);
	out->has_more = found > (size_t)query->limit;
	out->count = out->has_more ? (size_t)query->limit : found;
	enum err err = read_links(rows, out->count, links);
	if (err != OK || out->count == 0)
		return err;
	out->last.id = links[out->count - 1].entry.id;
	out->last.key = order_of(query)->is_time ? pg_result_time(rows, out->count - 1, KEY_COLUMN)
	                                         : pg_result_int(rows, out->count - 1, KEY_COLUMN);
	return OK;
}

/* Leaves out->total unset. */
static enum err scan(struct pg_conn *conn, const struct link_list_params *query, struct link *links,
                     struct link_list *out)
{
	struct statement sql;
	struct pg_result *rows = NULL;
	statement_init(&sql, NULL);
	write_scan(&sql, query);
	enum err err = statement_run(&sql, conn, &rows);
	if (err == OK)
		err = read_page(rows, query, links, out);
	pg_result_free(rows);
	return err;
}

/* Collects the page only if at most so many links match; beyond, a scan finds it sooner. */
static int64_t collected_page_max(const struct link_list_params *query)
{
	bool is_shallow = query->page * query->limit <= SHALLOW_MAX;
	return order_of(query)->is_ranking && is_shallow ? RANKED_MAX : LINK_LIST_STORE_COUNTED_MAX;
}

/*
 * search NULL = do not use the trigram index. Sets out->total, at most LINK_LIST_STORE_COUNTED_MAX
 * + 1. Finds no page if the total exceeds collected_page_max.
 */
static enum err collect(struct pg_conn *conn, const struct link_list_params *query,
                        const struct link_search *search, struct link *links, struct link_list *out)
{
	struct statement sql;
	struct pg_result *rows = NULL;
	statement_init(&sql, search);
	write_collect(&sql, query, collected_page_max(query));
	enum err err = statement_run(&sql, conn, &rows);
	if (err == OK)
		err = read_page(rows, query, links, out);
	if (err == OK)
		out->total = pg_result_int(rows, 0, COUNT_COLUMN);
	pg_result_free(rows);
	return err;
}

/* --- lists without a search --- */

/*
 * Merges the workspace's rows into one. Rows that another session is merging are left to it. Best effort:
 * the next count of the workspace tries again.
 */
static void merge_counts(struct pg_conn *conn, int64_t workspace_id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, workspace_id);
	enum err err = pg_conn_query(
		conn,
		"WITH taken AS (SELECT id FROM link_counts WHERE workspace_id = $1 LIMIT 20000 "
		"FOR UPDATE SKIP LOCKED), "
		"gone AS (DELETE FROM link_counts WHERE id = ANY (ARRAY(SELECT id FROM taken)) "
		"RETURNING links) "
		"INSERT INTO link_counts (workspace_id, links) SELECT $1, sum(links) FROM gone HAVING count(*) > 0",
		&params, NULL);
	(void)err;
}

/* Rows of workspace -1, which is LINK_STORE_ANY_WORKSPACE, count the links of all. */
enum err link_list_store_count(struct pg_conn *conn, int64_t workspace_id, int64_t *total)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, workspace_id);
	enum err err = pg_conn_query(
		conn,
		"SELECT coalesce(sum(links), 0)::bigint, count(*) FROM link_counts WHERE workspace_id = $1",
		&params, &rows);
	if (err == OK)
		*total = pg_result_int(rows, 0, 0);
	if (err == OK && pg_result_int(rows, 0, 1) > COUNT_ROWS_MAX)
		merge_counts(conn, workspace_id);
	pg_result_free(rows);
	return err;
}

static enum err read_all(struct pg_conn *conn, const struct link_list_params *query,
                         struct link *links, struct link_list *out)
{
	enum err err = link_list_store_count(conn, query->workspace_id, &out->total);
	return err == OK ? scan(conn, query, links, out) : err;
}

/* Collects. If too many links match for that, they are dense enough for a scan. */
static enum err read_matching(struct pg_conn *conn, const struct link_list_params *query,
                              const struct link_search *search, struct link *links,
                              struct link_list *out)
{
	enum err err = collect(conn, query, search, links, out);
	if (err != OK || out->total <= collected_page_max(query))
		return err;
	if (out->total > LINK_LIST_STORE_COUNTED_MAX) {
		out->total = LINK_LIST_STORE_COUNTED_MAX;
		out->total_is_capped = true;
	}
	return scan(conn, query, links, out);
}

/* --- searches --- */

/* all: links in the database; own: the links that the query is about. */
static bool index_helps(const struct link_list_params *query, const struct link_search *search,
                        int64_t all, int64_t own)
{
	int64_t matches = link_search_max_matches(search);
	bool is_frequent = matches > all / LINK_SEARCH_RARE_ONE_IN;
	return link_search_has_index(search) && matches <= all / 2 && matches <= own &&
	       !(*query->tag && is_frequent); /* the index on tags finds fewer links */
}

/* Whether the index leaves fewer links with a than with b. */
static bool is_better(const struct link_search *a, const struct link_search *b)
{
	int64_t matches = link_search_max_matches(a), others = link_search_max_matches(b);
	if (!link_search_has_index(a) || !link_search_has_index(b))
		return link_search_has_index(a);
	return matches >= 0 && (others < 0 || matches < others);
}

/* Chooses the word that the index looks up. *all: the number of links, 0 = not counted yet. */
static enum err choose_word(struct pg_conn *conn, const struct link_list_params *query,
                            struct link_search *best, int64_t *all)
{
	enum err err = OK;
	link_search_init(best, "");
	for (const char *word = query->words; err == OK && *word; word += strlen(word) + 1) {
		struct link_search search;
		link_search_init(&search, word);
		err = link_search_count(conn, &search, all);
		link_search_choose(&search, *all);
		if (err == OK && is_better(&search, best))
			*best = search;
	}
	return err;
}

static enum err read_search(struct pg_conn *conn, const struct link_list_params *query,
                            struct link *links, struct link_list *out)
{
	struct link_search search;
	int64_t all = 0, own;
	enum err err = choose_word(conn, query, &search, &all);
	if (err == OK)
		err = link_list_store_count(conn, query->workspace_id, &own);
	if (err != OK)
		return err;
	if (query->state == LINK_STATE_DELETED) /* link_counts does not count deleted links */
		own = all;
	bool use_index = index_helps(query, &search, all, own);
	return read_matching(conn, query, use_index ? &search : NULL, links, out);
}

enum err link_list_store_read(struct pg_conn *conn, const struct link_list_params *query,
                              struct link *links, struct link_list *out)
{
	struct link_list list = { 0 };
	enum err err;
	if (*query->words)
		err = read_search(conn, query, links, &list);
	else if (*query->tag || query->key_tags || query->state != 0 || query->has_filter)
		err = read_matching(conn, query, NULL, links, &list);
	else
		err = read_all(conn, query, links, &list);
	if (err == OK)
		*out = list;
	return err;
}

/* --- all of them --- */

/* At most max of the matching links: before FROM, what orders them, and what follows the limit. */
static enum err select_matching(struct pg_conn *conn, const struct link_list_params *query,
                                const char *before, const char *order, size_t max,
                                const char *after, struct pg_result **rows)
{
	struct statement sql;
	statement_init(&sql, NULL);
	WRITE(&sql, "%s", before);
	write_links(&sql, query, nql_needs_ranking(&query->filter), NULL);
	WRITE(&sql, "%s LIMIT %zu%s", order, max, after);
	return statement_run(&sql, conn, rows);
}

enum err link_list_store_ids(struct pg_conn *conn, const struct link_list_params *query, size_t max,
                             struct sql_column *ids, bool *is_over)
{
	struct pg_result *rows = NULL;
	enum err err = select_matching(conn, query, "SELECT id", "", max + 1, "", &rows);
	*is_over = err == OK && pg_result_count(rows) > max;
	if (*is_over)
		err = ERR_LIMIT;
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++)
		sql_column_add_int(ids, pg_result_int(rows, i, 0));
	pg_result_free(rows);
	return err;
}

/* Counts first, because the sort reads all that match. */
enum err link_list_store_lock(struct pg_conn *conn, const struct link_list_params *query,
                              struct link *links, size_t max, size_t *count)
{
	struct pg_result *rows = NULL;
	*count = 0;
	enum err err = select_matching(conn, query, "SELECT count(*) FROM (SELECT", "", max + 1,
	                               ") AS chosen", &rows);
	if (err == OK && pg_result_int(rows, 0, 0) > (int64_t)max) {
		*count = max + 1;
		err = ERR_LIMIT;
	}
	pg_result_free(rows);
	if (err != OK)
		return err;
	rows = NULL;
	/* The sum id + 0 keeps PostgreSQL from scanning all ids for the first matches in order. */
	err = select_matching(conn, query, "SELECT " LINK_ROW_COLUMNS, " ORDER BY id + 0", max + 1,
	                      " FOR UPDATE OF links", &rows);
	if (err == OK) {
		*count = pg_result_count(rows);
		err = *count > max ? ERR_LIMIT : read_links(rows, *count, links);
	}
	pg_result_free(rows);
	return err;
}
