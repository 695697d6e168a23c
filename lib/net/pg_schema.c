#include "lib/net/pg_schema.h"

#include <stdbool.h>

static enum err query(struct pg_conn *conn, const char *sql, struct pg_result **rows)
{
	*rows = NULL;
	return pg_conn_query(conn, sql, NULL, rows);
}

static enum err can_read(struct pg_conn *conn, bool *out)
{
	struct pg_result *rows;
	enum err err = query(
		conn, "SELECT coalesce(has_table_privilege(to_regclass('schema_migrations'), 'SELECT'), false)", &rows);
	if (err == OK)
		*out = pg_result_bool(rows, 0, 0);
	pg_result_free(rows);
	return err;
}

enum err pg_schema_version(struct pg_conn *conn, int64_t *out)
{
	bool readable = false;
	enum err err = can_read(conn, &readable);
	int64_t version = 0;
	if (err == OK && readable) {
		struct pg_result *rows;
		err = query(conn, "SELECT coalesce(max(version), 0) FROM schema_migrations", &rows);
		if (err == OK)
			version = pg_result_int(rows, 0, 0);
		pg_result_free(rows);
	}
	if (err == OK)
		*out = version;
	return err;
}
