#include "services/links-api/link_list_store.h"

#include <stdlib.h>
#include <string.h>

#include "lib/links/link_row.h"
#include "lib/links/link_store.h"
#include "services/links-api/link_search.h"
#include "services/links-api/nql_sql.h"
#include "services/links-api/sql_texts.h"

#define SQL_BYTES_MAX (32 * 1024)
/* From so many rows on an owner's count is added up into one. */
#define COUNT_ROWS_MAX 64
/* The order's column stands behind those of the link. */
#define KEY_COLUMN LINK_ROW_COLUMN_COUNT
#define COUNTED_COLUMN (KEY_COLUMN + 1)

/* One statement that is put together. */
struct statement {
	struct strbuf sql;
	struct pg_params params;
	struct sql_texts texts;
};

static void statement_init(struct statement *s)
{
	*s = (struct statement){ 0 };
	strbuf_init(&s->sql, SQL_BYTES_MAX);
}

static void statement_clear(struct statement *s)
{
	strbuf_clear(&s->sql);
	sql_texts_clear(&s->texts);
}

static enum err statement_run(struct statement *s, struct pg_conn *conn, struct pg_result **rows)
{
	enum err err = strbuf_status(&s->sql);
	return err == OK ? pg_conn_query_once(conn, s->sql.data, &s->params, rows) : err;
}

#define WRITE(s, ...) strbuf_add_format(&(s)->sql, __VA_ARGS__)

/* --- which links --- */

static bool needs_ranking(const struct link_query *query)
{
	return query->has_filter && nql_needs_ranking(&query->filter);
}

/* As link_state_at. */
static void write_state(struct statement *s, enum link_state state)
{
	static const char over[] = "expires_at <= statement_timestamp()";
	if (state == 0)
		WRITE(s, " AND state <> 'DELETED'");
	else if (state == LINK_STATE_ACTIVE)
		WRITE(s, " AND state = 'ACTIVE' AND (%s) IS NOT TRUE", over);
	else if (state == LINK_STATE_EXPIRED)
		WRITE(s, " AND (state = 'EXPIRED' OR (state = 'ACTIVE' AND %s))", over);
	else
		WRITE(s, " AND state = '%s'", link_state_name(state));
}

static void write_search(struct statement *s, const char *q)
{
	size_t len;
	const char *word = link_search_word(q, &len);
	pg_params_text(&s->params, sql_texts_containing(&s->texts, word, len));
	WRITE(s, " AND " LINK_SEARCH_TEXT " ILIKE $%d", s->params.count);
	if (len == strlen(q))
		return;
	pg_params_text(&s->params, sql_texts_containing(&s->texts, q, strlen(q)));
	WRITE(s, " AND " LINK_SEARCH_TEXT_UNINDEXED " ILIKE $%d", s->params.count);
}

/* FROM and WHERE. owner: the column that an order or a search goes by; NULL: both, for what may go by either. */
static void write_links(struct statement *s, const struct link_query *query, bool with_ranking, const char *owner)
{
	WRITE(s, " FROM links%s WHERE true", with_ranking ? " JOIN link_ranking ON link_id = id" : "");
	if (query->owner_id != LINK_STORE_ANY_OWNER) {
		pg_params_int(&s->params, query->owner_id);
		WRITE(s, " AND %s = $%d", owner ? owner : "owner_id", s->params.count);
		if (!owner && with_ranking)
			WRITE(s, " AND link_owner = $%d", s->params.count);
	}
	write_state(s, query->state);
	if (*query->tag) {
		pg_params_text(&s->params, query->tag);
		WRITE(s, " AND tags @> ARRAY[$%d::text]", s->params.count);
	}
	if (*query->q)
		write_search(s, query->q);
	if (query->has_filter) {
		WRITE(s, " AND ");
		nql_sql_add(&query->filter, &s->sql, &s->params, &s->texts);
	}
}

/* --- in which order --- */

struct order {
	const char *key, *id;
	bool is_ranking; /* columns of link_ranking */
	bool is_time;
};

static const struct order *order_of(const struct link_query *query)
{
	static const struct order orders[] = {
		[LINK_QUERY_CREATED_AT] = { "created_at", "id", false, true },
		[LINK_QUERY_VISIT_COUNT] = { "visits", "link_id", true, false },
		[LINK_QUERY_LAST_VISITED_AT] = { "visited_at", "link_id", true, true },
	};
	return &orders[query->sort];
}

static void write_behind(struct statement *s, const struct link_query *query, const char *key, const char *id)
{
	const struct link_cursor *behind = &query->behind;
	if (!order_of(query)->is_time)
		pg_params_int(&s->params, behind->key);
	else if (behind->key == INT64_MIN)
		pg_params_text(&s->params, "-infinity");
	else
		pg_params_time(&s->params, behind->key);
	pg_params_int(&s->params, behind->id);
	WRITE(s, " AND (%s, %s) %s ($%d, $%d)", key, id, query->is_ascending ? ">" : "<", s->params.count - 1,
	      s->params.count);
}

static void write_order(struct statement *s, const struct link_query *query, const char *key, const char *id)
{
	const char *direction = query->is_ascending ? "ASC" : "DESC";
	WRITE(s, " ORDER BY %s %s, %s %s", key, direction, id, direction);
}

/* Behind what WHERE has so far: one page of it, and one link more, to see whether there are more. */
static void write_page(struct statement *s, const struct link_query *query, const char *key, const char *id)
{
	if (query->page == 0)
		write_behind(s, query, key, id);
	write_order(s, query, key, id);
	pg_params_int(&s->params, query->limit + 1);
	WRITE(s, " LIMIT $%d", s->params.count);
	if (query->page > 1) {
		pg_params_int(&s->params, (query->page - 1) * query->limit);
		WRITE(s, " OFFSET $%d", s->params.count);
	}
}

/* Goes along the order until a page is full: for links that are many among those of the owner. */
static void write_walk(struct statement *s, const struct link_query *query)
{
	const struct order *order = order_of(query);
	WRITE(s, "SELECT " LINK_ROW_COLUMNS ", %s", order->key);
	if (order->is_ranking)
		write_links(s, query, true, "link_owner");
	else
		write_links(s, query, needs_ranking(query), "owner_id");
	write_page(s, query, order->key, order->id);
}

/* Finds all and counts them, then looks for the page among them: for links that are few. */
static void write_gathering(struct statement *s, const struct link_query *query)
{
	const struct order *order = order_of(query);
	WRITE(s, "WITH chosen AS MATERIALIZED (SELECT id AS chosen_id, %s AS chosen_key", order->key);
	write_links(s, query, order->is_ranking || needs_ranking(query), NULL);
	WRITE(s,
	      " LIMIT %d) SELECT " LINK_ROW_COLUMNS ", chosen_key, counted.n FROM "
	      "(SELECT count(*) AS n FROM chosen) AS counted LEFT JOIN "
	      "(SELECT * FROM (SELECT * FROM chosen WHERE true",
	      LINK_LIST_STORE_COUNTED_MAX + 1);
	write_page(s, query, "chosen_key", "chosen_id");
	WRITE(s, ") AS shown JOIN links ON id = chosen_id) AS page ON true");
	write_order(s, query, "chosen_key", "chosen_id");
}

/* --- reading --- */

static enum err read_links(const struct pg_result *rows, size_t count, struct link *links)
{
	enum err err = OK;
	for (size_t i = 0; err == OK && i < count; i++)
		err = link_row_read(rows, i, &links[i]);
	return err;
}

static enum err read_page(const struct pg_result *rows, const struct link_query *query, struct link *links,
                          struct link_list *out)
{
	/* A gathering that shows nothing has a row with its count alone. */
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

/* One of the two ways; *gathered: how many were found, if it counts. */
static enum err read_by(struct pg_conn *conn, void (*write)(struct statement *, const struct link_query *),
                        const struct link_query *query, struct link *links, struct link_list *out, int64_t *gathered)
{
	struct statement s;
	struct pg_result *rows = NULL;
	statement_init(&s);
	write(&s, query);
	enum err err = statement_run(&s, conn, &rows);
	if (err == OK)
		err = read_page(rows, query, links, out);
	if (err == OK)
		*gathered = pg_result_int(rows, 0, COUNTED_COLUMN);
	pg_result_free(rows);
	statement_clear(&s);
	return err;
}

/* --- counting --- */

/* Best effort: whoever counts next does it otherwise. */
static void add_up(struct pg_conn *conn, int64_t owner_id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, owner_id);
	enum err err = pg_conn_query(conn, "SELECT link_counts_fold($1)", &params, NULL);
	(void)err;
}

static enum err count_all(struct pg_conn *conn, const struct link_query *query, int64_t *total)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	bool is_one = query->owner_id != LINK_STORE_ANY_OWNER;
	if (is_one)
		pg_params_int(&params, query->owner_id);
	enum err err = pg_conn_query(
		conn,
		is_one ? "SELECT coalesce(sum(links), 0)::bigint, count(*) FROM link_counts WHERE owner_id = $1"
		       : "SELECT coalesce(sum(links), 0)::bigint, 0 FROM link_counts",
		&params, &rows);
	if (err == OK)
		*total = pg_result_int(rows, 0, 0);
	if (err == OK && pg_result_int(rows, 0, 1) > COUNT_ROWS_MAX)
		add_up(conn, query->owner_id);
	pg_result_free(rows);
	return err;
}

static enum err read_all(struct pg_conn *conn, const struct link_query *query, struct link *links,
                         struct link_list *out)
{
	int64_t none;
	enum err err = count_all(conn, query, &out->total);
	return err == OK ? read_by(conn, write_walk, query, links, out, &none) : err;
}

static enum err read_chosen(struct pg_conn *conn, const struct link_query *query, struct link *links,
                            struct link_list *out)
{
	int64_t none;
	enum err err = read_by(conn, write_gathering, query, links, out, &out->total);
	if (err != OK || out->total <= LINK_LIST_STORE_COUNTED_MAX)
		return err;
	out->total = LINK_LIST_STORE_MANY;
	return read_by(conn, write_walk, query, links, out, &none);
}

enum err link_list_store_read(struct pg_conn *conn, const struct link_query *query, struct link *links,
                              struct link_list *out)
{
	bool is_chosen = *query->q || *query->tag || query->state != 0 || query->has_filter;
	struct link_list list = { 0 };
	enum err err = is_chosen ? read_chosen(conn, query, links, &list) : read_all(conn, query, links, &list);
	if (err == OK)
		*out = list;
	return err;
}

/* --- for changes --- */

static enum err count_up_to(struct pg_conn *conn, const struct link_query *query, size_t most, size_t *count)
{
	struct statement s;
	struct pg_result *rows = NULL;
	statement_init(&s);
	WRITE(&s, "SELECT count(*) FROM (SELECT");
	write_links(&s, query, needs_ranking(query), NULL);
	WRITE(&s, " LIMIT %zu) AS chosen", most);
	enum err err = statement_run(&s, conn, &rows);
	if (err == OK)
		*count = (size_t)pg_result_int(rows, 0, 0);
	pg_result_free(rows);
	statement_clear(&s);
	return err;
}

/* The sum keeps PostgreSQL from going along the ids of everybody to find some of them in order. */
static enum err lock_found(struct pg_conn *conn, const struct link_query *query, struct link *links, size_t max,
                           size_t *count)
{
	struct statement s;
	struct pg_result *rows = NULL;
	statement_init(&s);
	WRITE(&s, "SELECT " LINK_ROW_COLUMNS);
	write_links(&s, query, needs_ranking(query), NULL);
	WRITE(&s, " ORDER BY id + 0 LIMIT %zu FOR UPDATE OF links", max + 1);
	enum err err = statement_run(&s, conn, &rows);
	if (err == OK) {
		*count = pg_result_count(rows);
		err = *count > max ? ERR_LIMIT : read_links(rows, *count, links);
	}
	pg_result_free(rows);
	statement_clear(&s);
	return err;
}

enum err link_list_store_lock(struct pg_conn *conn, const struct link_query *query, struct link *links, size_t max,
                              size_t *count)
{
	*count = 0;
	enum err err = count_up_to(conn, query, max + 1, count);
	if (err == OK && *count > max)
		return ERR_LIMIT;
	*count = 0;
	return err == OK ? lock_found(conn, query, links, max, count) : err;
}
