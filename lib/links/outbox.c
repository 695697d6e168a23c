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
}

enum err outbox_read(struct pg_conn *conn, size_t limit, struct outbox_batch *out)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, (int64_t)limit);
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, "SELECT id, slug, created_at, payload FROM outbox ORDER BY id LIMIT $1",
	                             &params, &rows);
	if (err == OK) {
		out->count = pg_result_count(rows);
		out->rows = mem_array(out->count, sizeof(*out->rows));
		for (size_t i = 0; i < out->count; i++)
			read_row(rows, i, &out->rows[i]);
	}
	pg_result_free(rows);
	return err;
}

void outbox_batch_clear(struct outbox_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		free(batch->rows[i].payload);
	free(batch->rows);
	*batch = (struct outbox_batch){ 0 };
}

enum err outbox_remove(struct pg_conn *conn, const struct outbox_batch *batch)
{
	struct strbuf ids;
	strbuf_init(&ids, 32 + batch->count * 24);
	strbuf_add_char(&ids, '{');
	for (size_t i = 0; i < batch->count; i++)
		strbuf_add_format(&ids, "%s%lld", i > 0 ? "," : "", (long long)batch->rows[i].id);
	strbuf_add_char(&ids, '}');
	struct pg_params params = { 0 };
	pg_params_text(&params, ids.data);
	enum err err = pg_conn_query(conn, "DELETE FROM outbox WHERE id = ANY ($1::bigint[])", &params, NULL);
	strbuf_clear(&ids);
	return err;
}

enum err outbox_lag(struct pg_conn *conn, int64_t *rows, int64_t *oldest_us)
{
	struct pg_result *answer = NULL;
	enum err err = pg_conn_query(conn,
	                             "SELECT count(*), COALESCE(extract(epoch FROM "
	                             "clock_timestamp() - min(created_at)) * 1000000, 0)::bigint FROM outbox",
	                             NULL, &answer);
	if (err == OK) {
		*rows = pg_result_int(answer, 0, 0);
		*oldest_us = pg_result_int(answer, 0, 1);
	}
	pg_result_free(answer);
	return err;
}
