#include "lib/links/outbox.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/base/strbuf.h"

enum err outbox_add(struct pg_conn *conn, const struct link_event *event)
{
	struct strbuf payload;
	strbuf_init(&payload, LINK_EVENT_BYTES_MAX);
	link_event_encode(event, &payload);
	struct pg_params params = { 0 };
	pg_params_text(&params, event->link.entry.slug);
	pg_params_bytes(&params, payload.data, payload.len);
	/* Equal notifications of one transaction become one. */
	enum err err = pg_conn_query(conn,
	                             "WITH added AS (INSERT INTO outbox (slug, payload) VALUES ($1, $2)) "
	                             "SELECT pg_notify('" OUTBOX_CHANNEL "', '')",
	                             &params, NULL);
	strbuf_clear(&payload);
	return err;
}

static void read_row(const struct pg_result *rows, size_t i, struct outbox_row *out)
{
	out->id = pg_result_int(rows, i, 0);
	snprintf(out->slug, sizeof(out->slug), "%s", pg_result_text(rows, i, 1));
	out->created_at_us = pg_result_time(rows, i, 2);
	out->payload_len = pg_result_bytes(rows, i, 3, NULL, 0);
	out->payload = mem_zero(out->payload_len);
	pg_result_bytes(rows, i, 3, out->payload, out->payload_len);
	out->cached = pg_result_bool(rows, i, 4);
}

static enum err read_rows(struct pg_conn *conn, const char *sql, size_t limit, struct outbox_batch *out)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, (int64_t)limit);
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, sql, &params, &rows);
	if (err == OK) {
		out->count = pg_result_count(rows);
		out->rows = mem_array(out->count, sizeof(*out->rows));
		for (size_t i = 0; i < out->count; i++)
			read_row(rows, i, &out->rows[i]);
	}
	pg_result_free(rows);
	return err;
}

#define SELECT_ROWS "SELECT id, slug, created_at, payload, cached FROM outbox "

enum err outbox_read(struct pg_conn *conn, size_t limit, struct outbox_batch *out)
{
	return read_rows(conn, SELECT_ROWS "WHERE NOT published ORDER BY id LIMIT $1", limit, out);
}

enum err outbox_read_uncached(struct pg_conn *conn, size_t limit, struct outbox_batch *out)
{
	return read_rows(conn, SELECT_ROWS "WHERE NOT cached ORDER BY id LIMIT $1", limit, out);
}

void outbox_batch_clear(struct outbox_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		free(batch->rows[i].payload);
	free(batch->rows);
	*batch = (struct outbox_batch){ 0 };
}

/* An array literal: the ids of all rows, or of those that are cached. */
static void list_ids(const struct outbox_batch *batch, bool cached_only, struct strbuf *out)
{
	strbuf_init(out, 32 + batch->count * 24);
	strbuf_add_char(out, '{');
	for (size_t i = 0; i < batch->count; i++) {
		if (!cached_only || batch->rows[i].cached)
			strbuf_add_format(out, "%s%lld", out->len > 1 ? "," : "", (long long)batch->rows[i].id);
	}
	strbuf_add_char(out, '}');
}

/*
 * The conditions look at the table's flags too, and again when another relay has changed the row meanwhile: no row can
 * get both flags and stay.
 */
enum err outbox_set_published(struct pg_conn *conn, const struct outbox_batch *batch)
{
	struct strbuf all, cached;
	list_ids(batch, false, &all);
	list_ids(batch, true, &cached);
	struct pg_params params = { 0 };
	pg_params_text(&params, all.data);
	pg_params_text(&params, cached.data);
	enum err err = pg_conn_query(conn,
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
	enum err err = pg_conn_query(conn,
	                             "WITH done AS (DELETE FROM outbox WHERE id = ANY ($1::bigint[]) AND published) "
	                             "UPDATE outbox SET cached = true WHERE id = ANY ($1::bigint[]) AND NOT published",
	                             &params, NULL);
	strbuf_clear(&ids);
	return err;
}

enum err outbox_forget_uncached(struct pg_conn *conn, size_t limit, int64_t *count)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, (int64_t)limit);
	struct pg_result *answer = NULL;
	enum err err =
		pg_conn_query(conn,
	                      "WITH waiting AS (SELECT ARRAY(SELECT id FROM outbox WHERE NOT cached "
	                      "ORDER BY id LIMIT $1) AS ids), "
	                      "done AS (DELETE FROM outbox WHERE id = ANY ((SELECT ids FROM waiting)::bigint[]) "
	                      "AND published RETURNING 1), "
	                      "kept AS (UPDATE outbox SET cached = true "
	                      "WHERE id = ANY ((SELECT ids FROM waiting)::bigint[]) AND NOT published RETURNING 1) "
	                      "SELECT (SELECT count(*) FROM done) + (SELECT count(*) FROM kept)",
	                      &params, &answer);
	if (err == OK)
		*count = pg_result_int(answer, 0, 0);
	pg_result_free(answer);
	return err;
}

enum err outbox_is_told(struct pg_conn *conn, const char *slug, bool *told)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_text(&params, slug);
	enum err err = pg_conn_query(conn, "SELECT NOT EXISTS (SELECT FROM outbox WHERE slug = $1 AND NOT cached)",
	                             &params, &rows);
	if (err == OK)
		*told = pg_result_bool(rows, 0, 0);
	pg_result_free(rows);
	return err;
}

enum err outbox_lag(struct pg_conn *conn, struct outbox_lag *out)
{
	struct pg_result *answer = NULL;
	enum err err =
		pg_conn_query(conn,
	                      "SELECT count(*) FILTER (WHERE NOT published), count(*) FILTER (WHERE NOT cached), "
	                      "COALESCE(extract(epoch FROM clock_timestamp() - "
	                      "min(created_at) FILTER (WHERE NOT published)) * 1000000, 0)::bigint FROM outbox",
	                      NULL, &answer);
	if (err == OK) {
		out->unpublished = pg_result_int(answer, 0, 0);
		out->uncached = pg_result_int(answer, 0, 1);
		out->oldest_us = pg_result_int(answer, 0, 2);
	}
	pg_result_free(answer);
	return err;
}
