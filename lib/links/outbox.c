#include "lib/links/outbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/strbuf.h"

/* The rows that wait for Redis. Same condition as the index. */
#define AWAITS_REDIS "NOT cached AND (priority = 0 OR published)"

/* Rows of aliases that one statement inserts. */
#define ALIAS_ROWS_MAX 1000

void outbox_bulk_init(struct outbox_bulk *bulk, enum outbox_priority priority, size_t events_max)
{
	bulk->priority = priority;
	bulk->is_cached = false;
	bulk->aliases = (struct link_aliases){ 0 };
	bulk->aliased = NULL;
	bulk->last_slug[0] = '\0';
	sql_column_init_for(&bulk->slugs, SQL_COLUMN_TEXT, events_max, SLUG_SIZE);
	sql_column_init_for(&bulk->payloads, SQL_COLUMN_BYTES, events_max, LINK_EVENT_BYTES_MAX);
	sql_column_init_for(&bulk->extras, SQL_COLUMN_BYTES, events_max, LINK_EXTRAS_BYTES_MAX);
}

/* Keeps the event until the aliases are known; more of it than a row would need much memory. */
static void keep_for_aliases(struct outbox_bulk *bulk, const struct link_event *event,
                             const struct strbuf *payload)
{
	const struct link_entry *entry = &event->link.entry;
	size_t count = bulk->aliases.link_count;
	bulk->aliased = mem_resize(bulk->aliased, count + 1, sizeof(*bulk->aliased));
	bulk->aliased[count] = (struct outbox_row){
		.payload = mem_copy(payload->data, payload->len),
		.payload_len = payload->len,
		.extras = entry->extras_len > 0 ? mem_copy(entry->extras, entry->extras_len) : NULL,
		.extras_len = entry->extras_len,
	};
	link_aliases_want(&bulk->aliases, &event->link);
}

void outbox_bulk_add(struct outbox_bulk *bulk, const struct link_event *event)
{
	struct strbuf payload;
	const struct link_entry *entry = &event->link.entry;
	strbuf_init(&payload, LINK_EVENT_BYTES_MAX);
	link_event_encode(event, &payload);
	sql_column_add_text(&bulk->slugs, entry->slug);
	sql_column_add_bytes(&bulk->payloads, payload.data, payload.len);
	sql_column_add_bytes(&bulk->extras, entry->extras_len > 0 ? entry->extras : NULL,
	                     entry->extras_len);
	memcpy(bulk->last_slug, entry->slug, sizeof(bulk->last_slug));
	if (event->link.alias_count > 0)
		keep_for_aliases(bulk, event, &payload);
	strbuf_clear(&payload);
}

/*
 * A waiting background event of a link becomes urgent if an urgent one follows, because it must go
 * first. The janitor, whose events are not urgent, may not update rows. Identical notifications of
 * one transaction are merged.
 */
#define INSERT(raise)                                                                              \
	"WITH added AS (INSERT INTO outbox (slug, payload, extras, priority, cached) "             \
	"SELECT slug, payload, extras, $4, $5 = 1 "                                                \
	"FROM unnest($1::text[], $2::bytea[], $3::bytea[]) "                                       \
	"AS event (slug, payload, extras))" raise " SELECT pg_notify('" OUTBOX_CHANNEL "', '')"

static enum err insert_rows(struct outbox_bulk *bulk, struct pg_conn *conn)
{
	struct pg_params params = { 0 };
	if (bulk->slugs.count == 0)
		return OK;
	enum err err = sql_column_param(&bulk->slugs, &params);
	if (err == OK)
		err = sql_column_param(&bulk->payloads, &params);
	if (err == OK)
		err = sql_column_param(&bulk->extras, &params);
	if (err != OK)
		return err;
	pg_params_int(&params, (int64_t)bulk->priority);
	pg_params_int(&params, bulk->is_cached);
	return pg_conn_query(conn,
	                     bulk->priority == OUTBOX_URGENT
	                             ? INSERT(", raised AS (UPDATE outbox SET priority = 0 "
	                                      "WHERE slug = ANY ($1::text[]) AND NOT published "
	                                      "AND priority = 1)")
	                             : INSERT(""),
	                     &params, NULL);
}

/* Adds the rows of the aliases of the links from *next on, as many as fit into one statement. */
static enum err add_aliases(const struct outbox_bulk *bulk, size_t *next, struct outbox_bulk *rows)
{
	struct link_event event;
	enum err err = OK;
	for (; err == OK && *next < bulk->aliases.link_count &&
	       rows->slugs.count + LINK_ALIASES_MAX <= ALIAS_ROWS_MAX;
	     (*next)++) {
		const struct link_alias *alias;
		size_t left =
			link_aliases_of(&bulk->aliases, bulk->aliases.links[*next].id, &alias);
		for (; err == OK && left > 0; left--) {
			err = outbox_row_event(&bulk->aliased[*next], &event);
			if (err != OK)
				break;
			link_aliases_to_event(alias++, &event);
			outbox_bulk_add(rows, &event);
		}
	}
	return err;
}

static enum err insert_aliases(struct outbox_bulk *bulk, struct pg_conn *conn)
{
	enum err err = link_aliases_read(&bulk->aliases, conn);
	for (size_t next = 0; err == OK && next < bulk->aliases.link_count;) {
		struct outbox_bulk rows;
		outbox_bulk_init(&rows, bulk->priority, ALIAS_ROWS_MAX);
		rows.is_cached = bulk->is_cached;
		err = add_aliases(bulk, &next, &rows);
		if (err == OK)
			err = insert_rows(&rows, conn);
		if (rows.slugs.count > 0)
			memcpy(bulk->last_slug, rows.last_slug, sizeof(bulk->last_slug));
		outbox_bulk_clear(&rows);
	}
	return err;
}

enum err outbox_bulk_insert(struct outbox_bulk *bulk, struct pg_conn *conn)
{
	enum err err = insert_rows(bulk, conn);
	return err == OK ? insert_aliases(bulk, conn) : err;
}

static void clear_row(struct outbox_row *row)
{
	free(row->payload);
	free(row->extras);
}

void outbox_bulk_clear(struct outbox_bulk *bulk)
{
	sql_column_clear(&bulk->slugs);
	sql_column_clear(&bulk->payloads);
	sql_column_clear(&bulk->extras);
	for (size_t i = 0; i < bulk->aliases.link_count; i++)
		clear_row(&bulk->aliased[i]);
	free(bulk->aliased);
	link_aliases_clear(&bulk->aliases);
}

enum err outbox_add(struct pg_conn *conn, const struct link_event *event)
{
	struct outbox_bulk bulk;
	outbox_bulk_init(&bulk, OUTBOX_URGENT, 1);
	outbox_bulk_add(&bulk, event);
	enum err err = outbox_bulk_insert(&bulk, conn);
	outbox_bulk_clear(&bulk);
	return err;
}

static void *read_bytes(const struct pg_result *rows, size_t i, int column, size_t *len)
{
	*len = pg_result_bytes(rows, i, column, NULL, 0);
	void *bytes = mem_zero(*len);
	pg_result_bytes(rows, i, column, bytes, *len);
	return bytes;
}

static void read_row(const struct pg_result *rows, size_t i, struct outbox_row *out)
{
	out->id = pg_result_int(rows, i, 0);
	snprintf(out->slug, sizeof(out->slug), "%s", pg_result_text(rows, i, 1));
	out->created_at_us = pg_result_time(rows, i, 2);
	out->payload = read_bytes(rows, i, 3, &out->payload_len);
	if (!pg_result_is_null(rows, i, 6))
		out->extras = read_bytes(rows, i, 6, &out->extras_len);
	out->cached = pg_result_bool(rows, i, 4);
	out->is_low_priority = pg_result_bool(rows, i, 5);
}

static enum err read_rows(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                          struct outbox_batch *out)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, sql, params, &rows);
	if (err == OK) {
		out->count = pg_result_count(rows);
		out->rows = mem_array(out->count, sizeof(*out->rows));
		for (size_t i = 0; i < out->count; i++)
			read_row(rows, i, &out->rows[i]);
	}
	pg_result_free(rows);
	return err;
}

#define SELECT_ROWS                                                                                \
	"SELECT id, slug, created_at, payload, cached, priority > 0 AS is_low_priority, CASE WHEN NOT cached THEN extras END FROM outbox "

/*
 * Drops the low-priority rows. More urgent rows may wait than were read, and a low-priority row
 * might belong after them.
 */
static void drop_low_priority(struct outbox_batch *batch)
{
	while (batch->count > 0 && batch->rows[batch->count - 1].is_low_priority)
		clear_row(&batch->rows[--batch->count]);
}

/* One statement, one snapshot: no low-priority row is seen before earlier versions of its link. */
enum err outbox_read(struct pg_conn *conn, size_t limit, size_t low_priority_limit,
                     struct outbox_batch *out)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, (int64_t)limit);
	pg_params_int(&params, (int64_t)low_priority_limit);
	enum err err = read_rows(
		conn,
		"(" SELECT_ROWS
		"WHERE NOT published AND priority = 0 ORDER BY id LIMIT $1) UNION ALL "
		"(" SELECT_ROWS "WHERE NOT published AND priority > 0 ORDER BY id LIMIT $2) "
		"ORDER BY is_low_priority, id",
		&params, out);
	if (err == OK && out->count >= limit && !out->rows[limit - 1].is_low_priority)
		drop_low_priority(out);
	return err;
}

enum err outbox_read_uncached(struct pg_conn *conn, size_t limit, struct outbox_batch *out)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, (int64_t)limit);
	return read_rows(conn, SELECT_ROWS "WHERE " AWAITS_REDIS " ORDER BY id LIMIT $1", &params,
	                 out);
}

void outbox_batch_clear(struct outbox_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		clear_row(&batch->rows[i]);
	free(batch->rows);
	*batch = (struct outbox_batch){ 0 };
}

enum err outbox_row_event(const struct outbox_row *row, struct link_event *out)
{
	enum err err = link_event_decode(row->payload, row->payload_len, out);
	if (err != OK || row->extras_len == 0 || row->extras_len > LINK_EXTRAS_BYTES_MAX)
		return err;
	struct link_entry *entry = &out->link.entry;
	entry->lacks_extras = false;
	entry->extras_len = (uint16_t)row->extras_len;
	memcpy(entry->extras, row->extras, row->extras_len);
	return OK;
}

/* Builds an array literal with the IDs of all rows, or of the cached ones. */
static void list_ids(const struct outbox_batch *batch, bool cached_only, struct strbuf *out)
{
	strbuf_init(out, 32 + batch->count * 24);
	strbuf_add_char(out, '{');
	for (size_t i = 0; i < batch->count; i++) {
		if (!cached_only || batch->rows[i].cached)
			strbuf_add_format(out, "%s%lld", out->len > 1 ? "," : "",
			                  (long long)batch->rows[i].id);
	}
	strbuf_add_char(out, '}');
}

/*
 * The conditions check the flags in the table too, and again if another relay has changed the row
 * in the meantime. So no row can have both flags and stay.
 */
enum err outbox_set_published(struct pg_conn *conn, const struct outbox_batch *batch)
{
	struct strbuf all, cached;
	list_ids(batch, false, &all);
	list_ids(batch, true, &cached);
	struct pg_params params = { 0 };
	pg_params_text(&params, all.data);
	pg_params_text(&params, cached.data);
	enum err err =
		pg_conn_query(conn,
	                      "WITH done AS (DELETE FROM outbox WHERE id = ANY ($1::bigint[]) "
	                      "AND (cached OR id = ANY ($2::bigint[]))) "
	                      "UPDATE outbox SET published = true WHERE id = ANY ($1::bigint[]) "
	                      "AND NOT (cached OR id = ANY ($2::bigint[]))",
	                      &params, NULL);
	strbuf_clear(&all);
	strbuf_clear(&cached);
	return err;
}

enum err outbox_set_cached(struct pg_conn *conn, const struct outbox_batch *batch)
{
	struct strbuf ids;
	list_ids(batch, true, &ids);
	struct pg_params params = { 0 };
	pg_params_text(&params, ids.data);
	enum err err = pg_conn_query(
		conn,
		"WITH done AS (DELETE FROM outbox WHERE id = ANY ($1::bigint[]) AND published) "
		"UPDATE outbox SET cached = true WHERE id = ANY ($1::bigint[]) AND NOT published",
		&params, NULL);
	strbuf_clear(&ids);
	return err;
}

enum err outbox_skip_uncached(struct pg_conn *conn, size_t limit, int64_t *count)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, (int64_t)limit);
	return pg_conn_query_int(
		conn,
		"WITH waiting AS (SELECT ARRAY(SELECT id FROM outbox WHERE " AWAITS_REDIS
		" ORDER BY id LIMIT $1) AS ids), "
		"done AS (DELETE FROM outbox WHERE id = ANY ((SELECT ids FROM waiting)::bigint[]) "
		"AND published RETURNING 1), "
		"kept AS (UPDATE outbox SET cached = true "
		"WHERE id = ANY ((SELECT ids FROM waiting)::bigint[]) AND NOT published RETURNING 1) "
		"SELECT (SELECT count(*) FROM done) + (SELECT count(*) FROM kept)",
		&params, count);
}

enum err outbox_are_cached(struct pg_conn *conn, const char *const *slugs, size_t count,
                           bool *are_cached)
{
	struct pg_params params = { 0 };
	struct sql_column names;
	sql_column_init_for(&names, SQL_COLUMN_TEXT, count, SLUG_SIZE);
	for (size_t i = 0; i < count; i++)
		sql_column_add_text(&names, slugs[i]);
	int64_t waiting = 0;
	enum err err = sql_column_param(&names, &params);
	if (err == OK)
		err = pg_conn_query_int(
			conn,
			"SELECT count(*) FROM outbox WHERE slug = ANY ($1::text[]) AND " AWAITS_REDIS,
			&params, &waiting);
	if (err == OK)
		*are_cached = waiting == 0;
	sql_column_clear(&names);
	return err;
}

enum err outbox_lag(struct pg_conn *conn, struct outbox_lag *out)
{
	struct pg_result *answer = NULL;
	enum err err = pg_conn_query(
		conn,
		"SELECT count(*), (SELECT count(*) FROM outbox WHERE " AWAITS_REDIS "), "
		"COALESCE(extract(epoch FROM clock_timestamp() - min(created_at)) * 1000000, 0)::bigint, "
		"(SELECT COALESCE(max(id) - min(id) + 1, 0) FROM outbox "
		"WHERE NOT published AND priority > 0) "
		"FROM outbox WHERE NOT published AND priority = 0",
		NULL, &answer);
	if (err == OK) {
		out->unpublished = pg_result_int(answer, 0, 0);
		out->uncached = pg_result_int(answer, 0, 1);
		out->oldest_us = pg_result_int(answer, 0, 2);
		out->low_priority = pg_result_int(answer, 0, 3);
	}
	pg_result_free(answer);
	return err;
}
