#include "services/links-api/links/bulk_update_store.h"

#include "lib/links/link_row.h"
#include "lib/links/outbox.h"
#include "lib/postgres/sql_column.h"

/* The index in the array follows the columns of the link. */
#define PLACE_COLUMN LINK_ROW_COLUMN_COUNT

enum column { ID, VERSION, STATE, ORIGINAL_URL, EXPIRES_AT, TAGS, COLUMNS };

static const struct {
	enum sql_column_type type;
	/* Of one value. */
	size_t bytes_max;
} columns[COLUMNS] = {
	[ID] = { SQL_COLUMN_INT8, 8 },
	[VERSION] = { SQL_COLUMN_INT8, 8 },
	[STATE] = { SQL_COLUMN_TEXT, 16 },
	[ORIGINAL_URL] = { SQL_COLUMN_TEXT, LINK_URL_SIZE },
	[EXPIRES_AT] = { SQL_COLUMN_TIME, 8 }, /* 0, which is 'epoch': NULL */
	[TAGS] = { SQL_COLUMN_TEXT, LINK_ROW_TAGS_SIZE },
};

static enum err put_row(struct sql_column row[static COLUMNS], const struct link *link)
{
	char tags[LINK_ROW_TAGS_SIZE];
	enum err err = link_row_join_tags(&link->tags, tags);
	if (err != OK)
		return err;
	sql_column_add_int(&row[ID], link->entry.id);
	sql_column_add_int(&row[VERSION], link->entry.version);
	sql_column_add_text(&row[STATE], link_state_stored(link->entry.state));
	sql_column_add_text(&row[ORIGINAL_URL], link->entry.original_url);
	sql_column_add_time(&row[EXPIRES_AT], link->entry.expires_at_us);
	sql_column_add_text(&row[TAGS], tags);
	return OK;
}

/* Sets these columns as link_store_update does. */
static enum err update(struct pg_conn *conn, struct sql_column input[static COLUMNS],
                       struct pg_result **rows)
{
	struct pg_params params = { 0 };
	for (size_t i = 0; i < COLUMNS; i++) {
		enum err err = sql_column_param(&input[i], &params);
		if (err != OK)
			return err;
	}
	return pg_conn_query(
		conn,
		"UPDATE links SET version = version + 1, state = new_state, original_url = new_url, "
		"expires_at = NULLIF(new_expires_at, 'epoch'), "
		"tags = " LINK_ROW_TAGS_FROM_TEXT(
			"new_tags") ", updated_at = clock_timestamp(), "
				    "state_since = CASE WHEN state = new_state THEN state_since "
				    "ELSE clock_timestamp() END, "
				    "state_before_deletion = CASE WHEN new_state <> 'DELETED' THEN NULL "
				    "WHEN state = 'DELETED' THEN state_before_deletion ELSE state END "
				    "FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], "
				    "$5::timestamptz[], $6::text[]) WITH ORDINALITY AS input (old_id, "
				    "old_version, new_state, new_url, new_expires_at, new_tags, place) "
				    "WHERE id = old_id AND " LINK_ROW_VERSION " = old_version "
				    "RETURNING " LINK_ROW_COLUMNS ", place",
		&params, rows);
}

static enum err update_links(struct pg_conn *conn, const struct bulk_update_store_change *changes,
                             size_t count, struct pg_result **rows)
{
	struct sql_column input[COLUMNS];
	enum err err = OK;
	for (size_t i = 0; i < COLUMNS; i++)
		sql_column_init_for(&input[i], columns[i].type, count, columns[i].bytes_max);
	for (size_t i = 0; err == OK && i < count; i++)
		err = put_row(input, &changes[i].link);
	if (err == OK)
		err = update(conn, input, rows);
	for (size_t i = 0; i < COLUMNS; i++)
		sql_column_clear(&input[i]);
	return err;
}

static enum err take_row(const struct pg_result *rows, size_t row,
                         struct bulk_update_store_change *changes, size_t count,
                         struct outbox_bulk *bundle)
{
	struct link_event event;
	int64_t place = pg_result_int(rows, row, PLACE_COLUMN);
	if (place < 1 || (size_t)place > count)
		return ERR_INTERNAL;
	struct bulk_update_store_change *change = &changes[place - 1];
	enum err err = link_row_read(rows, row, &change->link);
	if (err != OK)
		return err;
	link_row_to_event(&change->link, change->change, &event);
	outbox_bulk_add(bundle, &event);
	return OK;
}

/* Pending low-priority events of these links go first, as in outbox_add. */
static enum err record(struct pg_conn *conn, struct outbox_bulk *bundle)
{
	struct pg_params params = { 0 };
	enum err err = sql_column_param(&bundle->slugs, &params);
	if (err == OK)
		err = pg_conn_query(
			conn,
			"UPDATE outbox SET priority = 0 "
			"WHERE slug = ANY ($1::text[]) AND NOT published AND priority = 1",
			&params, NULL);
	return err == OK ? outbox_bulk_insert(bundle, conn) : err;
}

enum err bulk_update_store_write(struct pg_conn *conn, struct bulk_update_store_change *changes,
                                 size_t count)
{
	struct pg_result *rows = NULL;
	struct outbox_bulk bundle;
	if (count == 0)
		return OK;
	if (count > BULK_UPDATE_STORE_MAX)
		return ERR_LIMIT;
	outbox_bulk_init(&bundle, OUTBOX_URGENT, count);
	enum err err = update_links(conn, changes, count, &rows);
	if (err == OK && pg_result_count(rows) != count)
		err = ERR_CONFLICT;
	for (size_t i = 0; err == OK && i < count; i++)
		err = take_row(rows, i, changes, count, &bundle);
	if (err == OK)
		err = record(conn, &bundle);
	outbox_bulk_clear(&bundle);
	pg_result_free(rows);
	return err;
}

enum err bulk_update_store_find_tagged(struct pg_conn *conn, int64_t owner_id, const char *tag,
                                       size_t max, int64_t *ids, size_t *count)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, owner_id);
	pg_params_text(&params, tag);
	pg_params_int(&params, (int64_t)max);
	enum err err = pg_conn_query(conn,
	                             "SELECT id FROM links WHERE owner_id = $1 "
	                             "AND tags @> ARRAY[$2::text] ORDER BY id + 0 LIMIT $3",
	                             &params, &rows);
	*count = err == OK ? pg_result_count(rows) : 0;
	for (size_t i = 0; i < *count; i++)
		ids[i] = pg_result_int(rows, i, 0);
	pg_result_free(rows);
	return err;
}

enum err bulk_update_store_lock(struct pg_conn *conn, const int64_t *ids, size_t count,
                                struct bulk_update_store_change *changes, size_t *locked)
{
	struct sql_column column;
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	if (count > BULK_UPDATE_STORE_MAX)
		return ERR_LIMIT;
	sql_column_init_for(&column, SQL_COLUMN_INT8, count, columns[ID].bytes_max);
	for (size_t i = 0; i < count; i++)
		sql_column_add_int(&column, ids[i]);
	enum err err = sql_column_param(&column, &params);
	if (err == OK)
		err = pg_conn_query(conn,
		                    "SELECT " LINK_ROW_COLUMNS
		                    " FROM links WHERE id = ANY ($1::bigint[]) "
		                    "ORDER BY id FOR UPDATE",
		                    &params, &rows);
	*locked = err == OK ? pg_result_count(rows) : 0;
	for (size_t i = 0; err == OK && i < *locked; i++)
		err = link_row_read(rows, i, &changes[i].link);
	pg_result_free(rows);
	sql_column_clear(&column);
	return err;
}
