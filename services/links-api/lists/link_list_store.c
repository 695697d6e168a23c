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

#include <string.h>

#include "lib/links/link_row.h"
#include "lib/links/link_store.h"
#include "services/links-api/lists/link_list_sql.h"

/* With more rows than this in link_counts, an owner's rows are merged into one. */
#define COUNT_ROWS_MAX 64
/* Sorting more matches by visits takes longer than a scan in that order. */
#define RANKED_MAX 2000
/* Up to this position, a page is close enough to the start for a scan. */
#define SHALLOW_MAX 100

/* --- running a statement --- */

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
	/* An empty page of link_list_sql_collect is one row with the count alone. */
	size_t found = pg_result_is_null(rows, 0, 0) ? 0 : pg_result_count(rows);
	out->has_more = found > (size_t)query->limit;
	out->count = out->has_more ? (size_t)query->limit : found;
	enum err err = read_links(rows, out->count, links);
	if (err != OK || out->count == 0)
		return err;
	out->last.id = links[out->count - 1].entry.id;
	out->last.key = link_list_sql_sorts_by_time(query)
	                        ? pg_result_time(rows, out->count - 1, LINK_LIST_SQL_KEY_COLUMN)
	                        : pg_result_int(rows, out->count - 1, LINK_LIST_SQL_KEY_COLUMN);
	return OK;
}

/* Leaves out->total unset. */
static enum err scan(struct pg_conn *conn, const struct link_list_params *query, struct link *links,
                     struct link_list *out)
{
	struct link_list_sql sql;
	struct pg_result *rows = NULL;
	link_list_sql_init(&sql, NULL);
	link_list_sql_scan(&sql, query);
	enum err err = link_list_sql_run(&sql, conn, &rows);
	if (err == OK)
		err = read_page(rows, query, links, out);
	pg_result_free(rows);
	link_list_sql_clear(&sql);
	return err;
}

/* Collects the page only if at most so many links match; beyond, a scan finds it sooner. */
static int64_t collected_page_max(const struct link_list_params *query)
{
	bool is_shallow = query->page * query->limit <= SHALLOW_MAX;
	return link_list_sql_uses_ranking(query) && is_shallow ? RANKED_MAX
	                                                       : LINK_LIST_STORE_COUNTED_MAX;
}

/*
 * search NULL = do not use the trigram index. Sets out->total, at most LINK_LIST_STORE_COUNTED_MAX
 * + 1. Finds no page if the total exceeds collected_page_max.
 */
static enum err collect(struct pg_conn *conn, const struct link_list_params *query,
                        const struct link_search *search, struct link *links, struct link_list *out)
{
	struct link_list_sql sql;
	struct pg_result *rows = NULL;
	link_list_sql_init(&sql, search);
	link_list_sql_collect(&sql, query, LINK_LIST_STORE_COUNTED_MAX, collected_page_max(query));
	enum err err = link_list_sql_run(&sql, conn, &rows);
	if (err == OK)
		err = read_page(rows, query, links, out);
	if (err == OK)
		out->total = pg_result_int(rows, 0, LINK_LIST_SQL_COUNT_COLUMN);
	pg_result_free(rows);
	link_list_sql_clear(&sql);
	return err;
}

/* --- lists without a search --- */

/*
 * Merges the owner's rows into one. Rows that another session is merging are left to it. Best effort:
 * the next count of the owner tries again.
 */
static void merge_counts(struct pg_conn *conn, int64_t owner_id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, owner_id);
	enum err err = pg_conn_query(
		conn,
		"WITH taken AS (SELECT id FROM link_counts WHERE owner_id = $1 LIMIT 20000 "
		"FOR UPDATE SKIP LOCKED), "
		"gone AS (DELETE FROM link_counts WHERE id = ANY (ARRAY(SELECT id FROM taken)) "
		"RETURNING links) "
		"INSERT INTO link_counts (owner_id, links) SELECT $1, sum(links) FROM gone HAVING count(*) > 0",
		&params, NULL);
	(void)err;
}

/* Rows with the owner -1, which is LINK_STORE_ANY_OWNER, count the links of all users. */
enum err link_list_store_count(struct pg_conn *conn, int64_t owner_id, int64_t *total)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, owner_id);
	enum err err = pg_conn_query(
		conn,
		"SELECT coalesce(sum(links), 0)::bigint, count(*) FROM link_counts WHERE owner_id = $1",
		&params, &rows);
	if (err == OK)
		*total = pg_result_int(rows, 0, 0);
	if (err == OK && pg_result_int(rows, 0, 1) > COUNT_ROWS_MAX)
		merge_counts(conn, owner_id);
	pg_result_free(rows);
	return err;
}

static enum err read_all(struct pg_conn *conn, const struct link_list_params *query,
                         struct link *links, struct link_list *out)
{
	enum err err = link_list_store_count(conn, query->owner_id, &out->total);
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

static void set_count(struct link_search *search, const char *name, int64_t links)
{
	for (size_t i = 0; i < search->count; i++) {
		if (strcmp(search->trigrams[i].name, name) == 0)
			search->trigrams[i].links = links;
	}
}

/*
 * Reads how many links contain each trigram, which the janitor estimates from a sample. *all: the
 * number of links, 0 = not counted yet.
 */
static enum err count_trigrams(struct pg_conn *conn, struct link_search *search, int64_t *all)
{
	const char *names[LINK_SEARCH_TRIGRAMS_MAX];
	struct sql_texts texts = { 0 };
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	for (size_t i = 0; i < search->count; i++)
		names[i] = search->trigrams[i].name;
	pg_params_text(&params, sql_texts_array(&texts, names, search->count));
	enum err err = pg_conn_query(
		conn,
		"SELECT NULL, links FROM link_search_count UNION ALL "
		"SELECT trigram, links FROM link_search_trigrams WHERE trigram = ANY ($1)",
		&params, &rows);
	*all = 0;
	for (size_t i = 0; i < pg_result_count(rows); i++) {
		if (pg_result_is_null(rows, i, 0))
			*all = pg_result_int(rows, i, 1);
		else
			set_count(search, pg_result_text(rows, i, 0), pg_result_int(rows, i, 1));
	}
	search->is_counted = *all > 0;
	pg_result_free(rows);
	sql_texts_clear(&texts);
	return err;
}

/* all: links in the database; own: the links that the query is about. */
static bool index_helps(const struct link_list_params *query, const struct link_search *search,
                        int64_t all, int64_t own)
{
	int64_t matches = link_search_max_matches(search);
	bool is_frequent = matches > all / LINK_SEARCH_RARE_ONE_IN;
	return link_search_has_index(search) && matches <= all / 2 && matches <= own &&
	       !(*query->tag && is_frequent); /* the index on tags finds fewer links */
}

static enum err read_search(struct pg_conn *conn, const struct link_list_params *query,
                            struct link *links, struct link_list *out)
{
	struct link_search search;
	int64_t all, own;
	link_search_init(&search, query->q);
	enum err err = count_trigrams(conn, &search, &all);
	if (err == OK)
		err = link_list_store_count(conn, query->owner_id, &own);
	if (err != OK)
		return err;
	if (query->state == LINK_STATE_DELETED) /* link_counts does not count deleted links */
		own = all;
	link_search_choose(&search, all);
	bool use_index = index_helps(query, &search, all, own);
	return read_matching(conn, query, use_index ? &search : NULL, links, out);
}

enum err link_list_store_read(struct pg_conn *conn, const struct link_list_params *query,
                              struct link *links, struct link_list *out)
{
	struct link_list list = { 0 };
	enum err err;
	if (*query->q)
		err = read_search(conn, query, links, &list);
	else if (*query->tag || query->state != 0 || query->has_filter)
		err = read_matching(conn, query, NULL, links, &list);
	else
		err = read_all(conn, query, links, &list);
	if (err == OK)
		*out = list;
	return err;
}

/* --- all of them --- */

enum err link_list_store_ids(struct pg_conn *conn, const struct link_list_params *query, size_t max,
                             struct sql_column *ids, bool *is_over)
{
	struct link_list_sql sql;
	struct pg_result *rows = NULL;
	link_list_sql_init(&sql, NULL);
	link_list_sql_ids(&sql, query, max + 1);
	enum err err = link_list_sql_run(&sql, conn, &rows);
	*is_over = err == OK && pg_result_count(rows) > max;
	if (*is_over)
		err = ERR_LIMIT;
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++)
		sql_column_add_int(ids, pg_result_int(rows, i, 0));
	pg_result_free(rows);
	link_list_sql_clear(&sql);
	return err;
}

/* --- bulk updates --- */

static enum err count_up_to(struct pg_conn *conn, const struct link_list_params *query, size_t max,
                            size_t *count)
{
	struct link_list_sql sql;
	struct pg_result *rows = NULL;
	link_list_sql_init(&sql, NULL);
	link_list_sql_count(&sql, query, max);
	enum err err = link_list_sql_run(&sql, conn, &rows);
	if (err == OK)
		*count = (size_t)pg_result_int(rows, 0, 0);
	pg_result_free(rows);
	link_list_sql_clear(&sql);
	return err;
}

static enum err lock_matching(struct pg_conn *conn, const struct link_list_params *query,
                              struct link *links, size_t max, size_t *count)
{
	struct link_list_sql sql;
	struct pg_result *rows = NULL;
	link_list_sql_init(&sql, NULL);
	link_list_sql_lock(&sql, query, max + 1);
	enum err err = link_list_sql_run(&sql, conn, &rows);
	if (err == OK) {
		*count = pg_result_count(rows);
		err = *count > max ? ERR_LIMIT : read_links(rows, *count, links);
	}
	pg_result_free(rows);
	link_list_sql_clear(&sql);
	return err;
}

enum err link_list_store_lock(struct pg_conn *conn, const struct link_list_params *query,
                              struct link *links, size_t max, size_t *count)
{
	*count = 0;
	enum err err = count_up_to(conn, query, max + 1, count);
	if (err == OK && *count > max)
		return ERR_LIMIT;
	*count = 0;
	return err == OK ? lock_matching(conn, query, links, max, count) : err;
}
