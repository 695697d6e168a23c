#include "services/links-api/lists/link_list_store.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/links/link_row.h"
#include "lib/links/link_store.h"
#include "services/links-api/lists/link_search_sql.h"
#include "services/links-api/lists/link_search_store.h"
#include "services/links-api/lists/nql_sql.h"
#include "services/links-api/lists/sql_texts.h"

#define SQL_BYTES_MAX (32 * 1024)
/* From so many rows on an owner's count is added up into one. */
#define COUNT_ROWS_MAX 64
/* The order's column stands behind those of the link. */
#define KEY_COLUMN LINK_ROW_COLUMN_COUNT
#define COUNTED_COLUMN (KEY_COLUMN + 1)

/* Beyond so many a page by visits is sooner found along that order than by looking up the visits of all. */
#define RANKED_MAX 2000
/* Up to so many are gathered, counted and put in order within the time that a search may take. */
#define GATHERED_MAX 5000
/* Of what more links may have, a page is looked for among so many of the order first, unless it is too deep for that. */
#define PROBED_MIN 5000
#define PROBED_MAX 20000
/* A page that lies deeper is among those that are skipped. */
#define SHALLOW_MAX 100

/* One statement that is put together. */
struct statement {
	const struct link_search *search; /* NULL: the index of searches is not asked */
	struct strbuf sql;
	struct pg_params params;
	struct sql_texts texts;
};

static void statement_init(struct statement *s, const struct link_search *search)
{
	*s = (struct statement){ .search = search };
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
	if (s->search)
		link_search_sql_add_index(s->search, &s->sql, &s->params, &s->texts);
	link_search_sql_add_exact(q, &s->sql, &s->params, &s->texts);
}

/* WHERE owner: the column that an order or a search goes by; NULL: both, for what may go by either. */
static void write_owner(struct statement *s, const struct link_query *query, bool with_ranking, const char *owner)
{
	if (query->owner_id == LINK_STORE_ANY_OWNER)
		return;
	pg_params_int(&s->params, query->owner_id);
	WRITE(s, " AND %s = $%d", owner ? owner : "owner_id", s->params.count);
	if (!owner && with_ranking)
		WRITE(s, " AND link_owner = $%d", s->params.count);
}

static void write_choice(struct statement *s, const struct link_query *query)
{
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

#define FROM_LINKS(with_ranking) ((with_ranking) ? " FROM links JOIN link_ranking ON link_id = id" : " FROM links")

/* FROM and WHERE; owner as of write_owner. */
static void write_links(struct statement *s, const struct link_query *query, bool with_ranking, const char *owner)
{
	WRITE(s, "%s WHERE true", FROM_LINKS(with_ranking));
	write_owner(s, query, with_ranking, owner);
	write_choice(s, query);
}

/* --- in which order --- */

struct order {
	const char *key, *id, *owner;
	bool is_ranking; /* columns of link_ranking */
	bool is_time;
};

static const struct order *order_of(const struct link_query *query)
{
	static const struct order orders[] = {
		[LINK_QUERY_CREATED_AT] = { "created_at", "id", "owner_id", false, true },
		[LINK_QUERY_VISIT_COUNT] = { "visits", "link_id", "link_owner", true, false },
		[LINK_QUERY_LAST_VISITED_AT] = { "visited_at", "link_id", "link_owner", true, true },
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
	write_links(s, query, order->is_ranking || needs_ranking(query), order->owner);
	write_page(s, query, order->key, order->id);
}

/* The same, but looks at so many links of the order at most. */
static void write_probe(struct statement *s, const struct link_query *query, int64_t links)
{
	const struct order *order = order_of(query);
	WRITE(s, "SELECT " LINK_ROW_COLUMNS ", %s FROM (SELECT *%s WHERE true", order->key,
	      FROM_LINKS(order->is_ranking));
	write_owner(s, query, order->is_ranking, order->owner);
	if (query->page == 0)
		write_behind(s, query, order->key, order->id);
	write_order(s, query, order->key, order->id);
	WRITE(s, " LIMIT %" PRId64 ") AS links WHERE true", links);
	write_choice(s, query);
	write_page(s, query, order->key, order->id);
}

/* How many may be gathered before walking is the better way to the page. */
static int64_t gathered_max(const struct link_query *query)
{
	bool is_shallow = query->page * query->limit <= SHALLOW_MAX;
	return order_of(query)->is_ranking && is_shallow ? RANKED_MAX : LINK_LIST_STORE_COUNTED_MAX;
}

/* Those that were gathered, with what they are ordered by. Looked up one by one: PostgreSQL would read all visits. */
static void write_gathered(struct statement *s, const struct link_query *query)
{
	const struct order *order = order_of(query);
	WRITE(s, "(SELECT chosen_id, ");
	if (order->is_ranking)
		WRITE(s,
		      "ranking_key AS chosen_key FROM chosen, LATERAL (SELECT %s AS ranking_key FROM link_ranking "
		      "WHERE link_id = chosen_id OFFSET 0) AS ranking",
		      order->key);
	else
		WRITE(s, "chosen_key FROM chosen");
	WRITE(s, " WHERE (SELECT n FROM counted) <= %" PRId64 ") AS gathered", gathered_max(query));
}

/* Finds all and counts them, then looks for the page among them: for links that are few. */
static void write_gathering(struct statement *s, const struct link_query *query)
{
	WRITE(s, "WITH chosen AS MATERIALIZED (SELECT id AS chosen_id, created_at AS chosen_key");
	write_links(s, query, needs_ranking(query), NULL);
	WRITE(s,
	      " LIMIT %d), counted AS MATERIALIZED (SELECT count(*) AS n FROM chosen) "
	      "SELECT " LINK_ROW_COLUMNS ", chosen_key, counted.n FROM counted LEFT JOIN "
	      "(SELECT * FROM (SELECT * FROM ",
	      LINK_LIST_STORE_COUNTED_MAX + 1);
	write_gathered(s, query);
	WRITE(s, " WHERE true");
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

static enum err read_rows(struct pg_conn *conn, struct statement *s, const struct link_query *query, struct link *links,
                          struct link_list *out, int64_t *counted)
{
	struct pg_result *rows = NULL;
	enum err err = statement_run(s, conn, &rows);
	if (err == OK)
		err = read_page(rows, query, links, out);
	if (err == OK)
		*counted = pg_result_int(rows, 0, COUNTED_COLUMN);
	pg_result_free(rows);
	return err;
}

/* Along the order; probed: through so many links of it at most, 0: until the page is full. */
static enum err walk(struct pg_conn *conn, const struct link_query *query, int64_t probed, struct link *links,
                     struct link_list *out)
{
	struct statement s;
	int64_t none;
	statement_init(&s, NULL);
	if (probed > 0)
		write_probe(&s, query, probed);
	else
		write_walk(&s, query);
	enum err err = read_rows(conn, &s, query, links, out, &none);
	statement_clear(&s);
	return err;
}

/* out->total: how many were found, LINK_LIST_STORE_COUNTED_MAX + 1 at most; the page only up to gathered_max. */
static enum err gather(struct pg_conn *conn, const struct link_query *query, const struct link_search *search,
                       struct link *links, struct link_list *out)
{
	struct statement s;
	statement_init(&s, search);
	write_gathering(&s, query);
	enum err err = read_rows(conn, &s, query, links, out, &out->total);
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

/* Rows of -1, which is LINK_STORE_ANY_OWNER, count the links of everybody. */
enum err link_list_store_count(struct pg_conn *conn, int64_t owner_id, int64_t *total)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, owner_id);
	enum err err = pg_conn_query(
		conn, "SELECT coalesce(sum(links), 0)::bigint, count(*) FROM link_counts WHERE owner_id = $1", &params,
		&rows);
	if (err == OK)
		*total = pg_result_int(rows, 0, 0);
	if (err == OK && pg_result_int(rows, 0, 1) > COUNT_ROWS_MAX)
		add_up(conn, owner_id);
	pg_result_free(rows);
	return err;
}

static enum err read_all(struct pg_conn *conn, const struct link_query *query, struct link *links,
                         struct link_list *out)
{
	enum err err = link_list_store_count(conn, query->owner_id, &out->total);
	return err == OK ? walk(conn, query, 0, links, out) : err;
}

static enum err read_chosen(struct pg_conn *conn, const struct link_query *query, const struct link_search *search,
                            struct link *links, struct link_list *out)
{
	enum err err = gather(conn, query, search, links, out);
	if (err != OK || out->total <= gathered_max(query))
		return err;
	if (out->total > LINK_LIST_STORE_COUNTED_MAX)
		out->total = LINK_LIST_STORE_MANY;
	return walk(conn, query, 0, links, out);
}

/* What nobody can count in time. */
static enum err read_uncounted(struct pg_conn *conn, const struct link_query *query, struct link *links,
                               struct link_list *out)
{
	enum err err = walk(conn, query, 0, links, out);
	bool is_all = query->page == 1 && !out->has_more;
	out->total = is_all ? (int64_t)out->count : LINK_LIST_STORE_MANY;
	return err;
}

/* What the index of searches is worth. */
struct worth {
	bool is_useless;   /* it cannot be asked, or would find more than another way */
	bool is_uncounted; /* nobody can count in time what it does not find */
	int64_t probed;    /* a page is looked for among so many links first; 0: there is no hope */
};

/* Twice as many as a page takes if found of all links have what is searched for, anywhere in the order. */
static int64_t probed_of(const struct link_query *query, int64_t all, int64_t found)
{
	if (found <= GATHERED_MAX)
		return 0;
	int64_t pages = query->page > 1 ? query->page : 1;
	int64_t links = 2 * (pages * query->limit + 1) * all / found;
	if (links > PROBED_MAX)
		return 0;
	return links > PROBED_MIN ? links : PROBED_MIN;
}

static struct worth weigh(const struct link_query *query, const struct link_search *search, int64_t all, int64_t own)
{
	int64_t found = link_search_found_max(search);
	bool is_choice_alone = !*query->tag && !query->has_filter;
	bool is_frequent = found > all / LINK_SEARCH_RARE_ONE_IN;
	bool is_useless = !link_search_sql_has_index(search) || found > all / 2 || found > own ||
	                  (*query->tag && is_frequent); /* the index of tags finds fewer */
	bool is_alone_in_many = is_choice_alone && own > LINK_LIST_STORE_LOOKED_AT_MAX;
	return (struct worth){
		.is_useless = is_useless,
		.is_uncounted = is_alone_in_many && is_useless,
		.probed = is_alone_in_many && !is_useless ? probed_of(query, all, found) : 0,
	};
}

static enum err read_weighed(struct pg_conn *conn, const struct link_query *query, const struct link_search *search,
                             struct worth worth, struct link *links, struct link_list *out)
{
	if (worth.is_uncounted)
		return read_uncounted(conn, query, links, out);
	if (worth.probed > 0) {
		enum err err = walk(conn, query, worth.probed, links, out);
		out->total = LINK_LIST_STORE_MANY;
		if (err != OK || out->has_more)
			return err;
	}
	return read_chosen(conn, query, worth.is_useless ? NULL : search, links, out);
}

static enum err read_searched(struct pg_conn *conn, const struct link_query *query, struct link *links,
                              struct link_list *out)
{
	struct link_search search;
	int64_t all, own;
	link_search_init(&search, query->q);
	enum err err = link_search_store_count(conn, &search, &all);
	if (err == OK)
		err = link_list_store_count(conn, query->owner_id, &own);
	if (err != OK)
		return err;
	if (query->state == LINK_STATE_DELETED) /* own are the others */
		own = all;
	link_search_choose(&search, all);
	return read_weighed(conn, query, &search, weigh(query, &search, all, own), links, out);
}

enum err link_list_store_read(struct pg_conn *conn, const struct link_query *query, struct link *links,
                              struct link_list *out)
{
	struct link_list list = { 0 };
	enum err err;
	if (*query->q)
		err = read_searched(conn, query, links, &list);
	else if (*query->tag || query->state != 0 || query->has_filter)
		err = read_chosen(conn, query, NULL, links, &list);
	else
		err = read_all(conn, query, links, &list);
	if (err == OK)
		*out = list;
	return err;
}

/* --- for changes --- */

static enum err count_up_to(struct pg_conn *conn, const struct link_query *query, size_t most, size_t *count)
{
	struct statement s;
	struct pg_result *rows = NULL;
	statement_init(&s, NULL);
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
	statement_init(&s, NULL);
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
