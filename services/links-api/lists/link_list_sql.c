#include "services/links-api/lists/link_list_sql.h"

#include <inttypes.h>

#include "lib/links/link_store.h"
#include "services/links-api/lists/nql_sql.h"

#define TEXT_BYTES_MAX (32 * 1024)

void link_list_sql_init(struct link_list_sql *sql, const struct link_search *search)
{
	*sql = (struct link_list_sql){ .search = search };
	strbuf_init(&sql->text, TEXT_BYTES_MAX);
}

void link_list_sql_clear(struct link_list_sql *sql)
{
	strbuf_clear(&sql->text);
	sql_texts_clear(&sql->texts);
}

enum err link_list_sql_run(struct link_list_sql *sql, struct pg_conn *conn, struct pg_result **rows)
{
	enum err err = strbuf_status(&sql->text);
	return err == OK ? pg_conn_query_once(conn, sql->text.data, &sql->params, rows) : err;
}

#define WRITE(sql, ...) strbuf_add_format(&(sql)->text, __VA_ARGS__)

/* --- which links --- */

static bool filter_needs_ranking(const struct link_list_params *query)
{
	return query->has_filter && nql_needs_ranking(&query->filter);
}

/* The same states as link_state_at. */
static void write_state(struct link_list_sql *sql, enum link_state state)
{
	static const char is_past[] = "expires_at <= statement_timestamp()";
	static const char is_future[] = "starts_at > statement_timestamp()";
	if (state == 0)
		WRITE(sql, " AND state <> 'DELETED'");
	else if (state == LINK_STATE_ACTIVE)
		WRITE(sql, " AND state = 'ACTIVE' AND (%s OR %s) IS NOT TRUE", is_past, is_future);
	else if (state == LINK_STATE_SCHEDULED)
		WRITE(sql, " AND state = 'ACTIVE' AND %s AND (%s) IS NOT TRUE", is_future, is_past);
	else if (state == LINK_STATE_EXPIRED)
		WRITE(sql, " AND (state = 'EXPIRED' OR (state = 'ACTIVE' AND %s))", is_past);
	else
		WRITE(sql, " AND state = '%s'", link_state_stored(state));
}

static void write_search(struct link_list_sql *sql, const struct link_list_params *query)
{
	if (sql->search)
		link_search_add_index(sql->search, query->q_host, &sql->text, &sql->params,
		                      &sql->texts);
	link_search_add_exact(query->q, query->q_host, &sql->text, &sql->params, &sql->texts);
}

/*
 * column: the owner column of the table whose index the statement should use. NULL lets PostgreSQL
 * choose: it gets a condition on both tables.
 */
static void write_owner(struct link_list_sql *sql, const struct link_list_params *query,
                        bool with_ranking, const char *column)
{
	if (query->owner_id == LINK_STORE_ANY_OWNER)
		return;
	pg_params_int(&sql->params, query->owner_id);
	WRITE(sql, " AND %s = $%d", column ? column : "owner_id", sql->params.count);
	if (!column && with_ranking)
		WRITE(sql, " AND link_owner = $%d", sql->params.count);
}

static void write_conditions(struct link_list_sql *sql, const struct link_list_params *query)
{
	write_state(sql, query->state);
	if (*query->tag) {
		pg_params_text(&sql->params, query->tag);
		WRITE(sql, " AND tags @> ARRAY[$%d::text]", sql->params.count);
	}
	if (*query->q)
		write_search(sql, query);
	if (query->has_filter) {
		WRITE(sql, " AND ");
		nql_sql_add(&query->filter, &sql->text, &sql->params, &sql->texts);
	}
}

#define FROM_LINKS(with_ranking)                                                                   \
	((with_ranking) ? " FROM links JOIN link_ranking ON link_id = id" : " FROM links")

/* FROM and WHERE. owner_column: as column of write_owner. */
static void write_links(struct link_list_sql *sql, const struct link_list_params *query,
                        bool with_ranking, const char *owner_column)
{
	WRITE(sql, "%s WHERE true", FROM_LINKS(with_ranking));
	write_owner(sql, query, with_ranking, owner_column);
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
		[LINK_LIST_PARAMS_CREATED_AT] = { "created_at", "id", "owner_id", false, true },
		[LINK_LIST_PARAMS_HUMANS] = { "visits", "link_id", "link_owner", true, false },
		[LINK_LIST_PARAMS_LAST_VISITED_AT] = { "visited_at", "link_id", "link_owner", true,
		                                       true },
	};
	return &orders[query->sort];
}

bool link_list_sql_uses_ranking(const struct link_list_params *query)
{
	return order_of(query)->is_ranking;
}

bool link_list_sql_sorts_by_time(const struct link_list_params *query)
{
	return order_of(query)->is_time;
}

static void write_cursor(struct link_list_sql *sql, const struct link_list_params *query,
                         const char *key, const char *id)
{
	const struct link_cursor *after = &query->after;
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

static void write_order(struct link_list_sql *sql, const struct link_list_params *query,
                        const char *key, const char *id)
{
	const char *direction = query->is_ascending ? "ASC" : "DESC";
	WRITE(sql, " ORDER BY %s %s, %s %s", key, direction, id, direction);
}

/* Continues a WHERE clause: cursor, order, and a limit of one link more than the page holds. */
static void write_page(struct link_list_sql *sql, const struct link_list_params *query,
                       const char *key, const char *id)
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

/* --- the statements --- */

void link_list_sql_scan(struct link_list_sql *sql, const struct link_list_params *query)
{
	const struct order *order = order_of(query);
	WRITE(sql, "SELECT " LINK_ROW_COLUMNS ", %s", order->key);
	write_links(sql, query, order->is_ranking || filter_needs_ranking(query), order->owner);
	write_page(sql, query, order->key, order->id);
}

/*
 * The collected ids with their sort keys. OFFSET 0 makes PostgreSQL look up the ranking link by
 * link; otherwise it would read the ranking of all links.
 */
static void write_collected(struct link_list_sql *sql, const struct link_list_params *query,
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

void link_list_sql_collect(struct link_list_sql *sql, const struct link_list_params *query,
                           int64_t counted_max, int64_t page_max)
{
	WRITE(sql, "WITH chosen AS MATERIALIZED (SELECT id AS chosen_id, created_at AS chosen_key");
	write_links(sql, query, filter_needs_ranking(query), NULL);
	WRITE(sql,
	      " LIMIT %" PRId64 "), counted AS MATERIALIZED (SELECT count(*) AS n FROM chosen) "
	      "SELECT " LINK_ROW_COLUMNS ", chosen_key, counted.n FROM counted LEFT JOIN "
	      "(SELECT * FROM (SELECT * FROM ",
	      counted_max + 1);
	write_collected(sql, query, page_max);
	WRITE(sql, " WHERE true");
	write_page(sql, query, "chosen_key", "chosen_id");
	WRITE(sql, ") AS shown JOIN links ON id = chosen_id) AS page ON true");
	write_order(sql, query, "chosen_key", "chosen_id");
}

void link_list_sql_count(struct link_list_sql *sql, const struct link_list_params *query,
                         size_t max)
{
	WRITE(sql, "SELECT count(*) FROM (SELECT");
	write_links(sql, query, filter_needs_ranking(query), NULL);
	WRITE(sql, " LIMIT %zu) AS chosen", max);
}

void link_list_sql_ids(struct link_list_sql *sql, const struct link_list_params *query, size_t max)
{
	WRITE(sql, "SELECT id");
	write_links(sql, query, filter_needs_ranking(query), NULL);
	WRITE(sql, " LIMIT %zu", max);
}

/* The sum id + 0 keeps PostgreSQL from scanning all ids for the first matches in order. */
void link_list_sql_lock(struct link_list_sql *sql, const struct link_list_params *query, size_t max)
{
	WRITE(sql, "SELECT " LINK_ROW_COLUMNS);
	write_links(sql, query, filter_needs_ranking(query), NULL);
	WRITE(sql, " ORDER BY id + 0 LIMIT %zu FOR UPDATE OF links", max);
}
