#include "services/links-api/links/link_notes_store.h"

#include "lib/base/mem.h"
#include "lib/postgres/sql_column.h"

#define NOTES_BYTES_MAX (LINK_NOTES_CHARS_MAX * 4)

enum err link_notes_store_set(struct pg_conn *conn, int64_t link_id, const char *notes,
                              bool *is_changed)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	enum err err;
	pg_params_int(&params, link_id);
	if (notes[0] == '\0') {
		err = pg_conn_query(conn,
		                    "DELETE FROM link_notes WHERE link_id = $1 RETURNING link_id",
		                    &params, &rows);
	} else {
		pg_params_text(&params, notes);
		err = pg_conn_query(
			conn,
			"INSERT INTO link_notes AS old (link_id, notes) VALUES ($1, $2) "
			"ON CONFLICT (link_id) DO UPDATE SET notes = EXCLUDED.notes "
			"WHERE old.notes <> EXCLUDED.notes RETURNING link_id",
			&params, &rows);
	}
	if (err == OK)
		*is_changed = pg_result_count(rows) == 1;
	pg_result_free(rows);
	return err;
}

static enum err insert(struct pg_conn *conn, struct sql_column *ids, struct sql_column *texts)
{
	struct pg_params params = { 0 };
	enum err err = sql_column_param(ids, &params);
	if (err == OK)
		err = sql_column_param(texts, &params);
	return err == OK ? pg_conn_query(conn,
	                                 "INSERT INTO link_notes (link_id, notes) "
	                                 "SELECT unnest($1::bigint[]), unnest($2::text[])",
	                                 &params, NULL)
	                 : err;
}

enum err link_notes_store_add_bulk(struct pg_conn *conn, const int64_t *ids,
                                   const char *const *notes, size_t count)
{
	struct sql_column id_column, text_column;
	sql_column_init_for(&id_column, SQL_COLUMN_INT8, count, sizeof(*ids));
	sql_column_init_for(&text_column, SQL_COLUMN_TEXT, count, NOTES_BYTES_MAX);
	for (size_t i = 0; i < count; i++) {
		if (notes[i][0] == '\0')
			continue;
		sql_column_add_int(&id_column, ids[i]);
		sql_column_add_text(&text_column, notes[i]);
	}
	enum err err = id_column.count > 0 ? insert(conn, &id_column, &text_column) : OK;
	sql_column_clear(&id_column);
	sql_column_clear(&text_column);
	return err;
}
