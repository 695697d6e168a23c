#include "services/links-api/links/link_deletion_store.h"

#include <stdio.h>
#include <string.h>

#include "lib/links/link_row.h"
#include "lib/links/outbox.h"
#include "lib/postgres/sql_column.h"

/* Reads the next links and collects the IDs of those that are not DELETED yet. */
static enum err read_next(struct pg_conn *conn, struct link_deletion_cursor *cursor,
                          struct sql_column *ids)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, cursor->owner_id);
	pg_params_time(&params, cursor->created_at_us);
	pg_params_int(&params, cursor->id);
	pg_params_int(&params, LINK_DELETION_STORE_BATCH_MAX);
	enum err err = pg_conn_query(conn,
	                             "SELECT id, created_at, state <> 'DELETED' FROM links "
	                             "WHERE owner_id = $1 AND (created_at, id) > ($2, $3) "
	                             "ORDER BY created_at, id LIMIT $4",
	                             &params, &rows);
	if (err != OK)
		return err;
	size_t count = pg_result_count(rows);
	for (size_t i = 0; i < count; i++)
		if (pg_result_bool(rows, i, 2))
			sql_column_add_int(ids, pg_result_int(rows, i, 0));
	cursor->is_over = count < LINK_DELETION_STORE_BATCH_MAX;
	if (count > 0) {
		cursor->id = pg_result_int(rows, count - 1, 0);
		cursor->created_at_us = pg_result_time(rows, count - 1, 1);
	}
	pg_result_free(rows);
	return OK;
}

static enum err add_events(const struct pg_result *rows, struct outbox_bulk *events,
                           struct link_deletion_batch *batch)
{
	struct link_event event;
	for (size_t i = 0; i < pg_result_count(rows); i++) {
		enum err err = link_row_read(rows, i, &event.link);
		if (err != OK)
			return err;
		link_row_to_event(&event.link, LINK_CHANGE_DELETED, &event);
		outbox_bulk_add(events, &event);
		batch->ids[batch->count++] = event.link.entry.id;
		snprintf(batch->last_slug, sizeof(batch->last_slug), "%s", event.link.entry.slug);
	}
	return OK;
}

/* Locks rows in the order of IDs, like every statement that locks several links. */
static enum err delete_links(struct pg_conn *conn, struct sql_column *ids, struct pg_result **rows)
{
	struct pg_params params = { 0 };
	enum err err = sql_column_param(ids, &params);
	if (err != OK)
		return err;
	return pg_conn_query(
		conn,
		"WITH chosen AS (SELECT id FROM links WHERE id = ANY ($1::bigint[]) AND state <> 'DELETED' "
		"ORDER BY id FOR UPDATE) "
		"UPDATE links SET state = 'DELETED', version = version + 1, state_before_deletion = state, "
		"state_since = clock_timestamp(), updated_at = clock_timestamp() "
		"WHERE id = ANY (ARRAY(SELECT id FROM chosen)) RETURNING " LINK_ROW_COLUMNS,
		&params, rows);
}

enum err link_deletion_store_next(struct pg_conn *conn, struct link_deletion_cursor *cursor,
                                  struct link_deletion_batch *batch)
{
	struct sql_column ids;
	struct outbox_bulk events;
	struct pg_result *rows = NULL;
	batch->count = 0;
	batch->last_slug[0] = '\0';
	sql_column_init_for(&ids, SQL_COLUMN_INT8, LINK_DELETION_STORE_BATCH_MAX, sizeof(int64_t));
	outbox_bulk_init(&events, OUTBOX_URGENT, LINK_DELETION_STORE_BATCH_MAX);
	enum err err = read_next(conn, cursor, &ids);
	if (err == OK && ids.count > 0)
		err = delete_links(conn, &ids, &rows);
	if (err == OK)
		err = add_events(rows, &events, batch);
	if (err == OK)
		err = outbox_bulk_insert(&events, conn);
	outbox_bulk_clear(&events);
	sql_column_clear(&ids);
	pg_result_free(rows);
	return err;
}
