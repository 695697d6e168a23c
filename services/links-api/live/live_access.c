#include "services/links-api/live/live_access.h"

#include "lib/postgres/sql_column.h"

#define COLUMNS 4
#define INT8_SIZE 12 /* of an element of an array */

enum err live_access_check(struct pg_conn *conn, const struct live_reader *readers, size_t count,
                           bool *may_read)
{
	struct sql_column columns[COLUMNS];
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	enum err err = OK;
	for (size_t i = 0; i < COLUMNS; i++)
		sql_column_init_for(&columns[i], SQL_COLUMN_INT8, count, INT8_SIZE);
	for (size_t i = 0; i < count; i++) {
		sql_column_add_int(&columns[0], readers[i].user_id);
		sql_column_add_int(&columns[1], readers[i].workspace_id);
		sql_column_add_int(&columns[2], readers[i].key_id);
		sql_column_add_int(&columns[3], readers[i].session_id);
		may_read[i] = false;
	}
	for (size_t i = 0; err == OK && i < COLUMNS; i++)
		err = sql_column_param(&columns[i], &params);
	if (err == OK)
		err = pg_conn_query(
			conn,
			"SELECT a.place FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) "
			"WITH ORDINALITY AS a (user_id, workspace_id, key_id, session_id, place) "
			"JOIN users u ON u.id = a.user_id WHERE NOT u.blocked AND u.deleted_at IS NULL "
			"AND (a.key_id = 0 OR EXISTS (SELECT FROM api_keys k WHERE k.id = a.key_id)) "
			"AND (a.session_id = 0 OR EXISTS (SELECT FROM sessions s WHERE s.id = a.session_id)) "
			"AND (EXISTS (SELECT FROM members m WHERE m.workspace_id = a.workspace_id "
			"AND m.user_id = a.user_id) OR (u.role = 'admin' AND a.key_id = 0))",
			&params, &rows);
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++) {
		int64_t place = pg_result_int(rows, i, 0);
		if (place >= 1 && (size_t)place <= count)
			may_read[place - 1] = true;
	}
	pg_result_free(rows);
	for (size_t i = 0; i < COLUMNS; i++)
		sql_column_clear(&columns[i]);
	return err;
}
