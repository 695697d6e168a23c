#include "services/links-api/commands/link_republish_store.h"

#include "lib/links/link_row.h"
#include "lib/links/outbox.h"

/* The locks keep a change of one of these links from getting into the outbox before its event. */
static enum err lock_next(struct pg_conn *conn, int64_t after_id, struct pg_result **rows)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, after_id);
	pg_params_int(&params, LINK_REPUBLISH_STORE_BATCH_MAX);
	return pg_conn_query(conn,
	                     "SELECT " LINK_ROW_COLUMNS
	                     " FROM links WHERE id > $1 ORDER BY id LIMIT $2 FOR UPDATE",
	                     &params, rows);
}

static enum err add_events(struct pg_conn *conn, const struct pg_result *rows, int64_t *last_id)
{
	struct outbox_bulk events;
	struct link_event event;
	enum err err = OK;
	size_t count = pg_result_count(rows);
	outbox_bulk_init(&events, OUTBOX_BACKGROUND, count);
	events.is_cached = true;
	for (size_t i = 0; err == OK && i < count; i++) {
		err = link_row_read(rows, i, &event.link);
		if (err == OK) {
			link_row_to_event(&event.link, LINK_CHANGE_REPUBLISHED, &event);
			outbox_bulk_add(&events, &event);
			*last_id = event.link.entry.id;
		}
	}
	if (err == OK)
		err = outbox_bulk_insert(&events, conn);
	outbox_bulk_clear(&events);
	return err;
}

enum err link_republish_store_next(struct pg_conn *conn, struct link_republish_cursor *cursor)
{
	struct pg_result *rows = NULL;
	struct link_republish_cursor next = *cursor;
	enum err err = lock_next(conn, cursor->link_id, &rows);
	if (err == OK)
		err = add_events(conn, rows, &next.link_id);
	if (err == OK)
		err = pg_conn_query_int(conn, "SELECT COALESCE(max(id), 0) FROM outbox", NULL,
		                        &next.outbox_id);
	next.count = err == OK ? pg_result_count(rows) : 0;
	pg_result_free(rows);
	if (err == OK)
		*cursor = next;
	return err;
}

enum err link_republish_store_is_waiting(struct pg_conn *conn, int64_t outbox_id, bool *is_waiting)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, outbox_id);
	/* Each half has an index of its own. */
	enum err err = pg_conn_query(
		conn,
		"SELECT EXISTS (SELECT FROM outbox WHERE NOT published AND priority > 0 AND id <= $1) "
		"OR EXISTS (SELECT FROM outbox WHERE NOT published AND priority = 0 AND id <= $1)",
		&params, &rows);
	if (err == OK)
		*is_waiting = pg_result_bool(rows, 0, 0);
	pg_result_free(rows);
	return err;
}
