#include "lib/postgres/pg_schema.h"

#include <stdbool.h>

static enum err can_read_migrations(struct pg_conn *conn, bool *out)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(
		conn,
		"SELECT coalesce(has_table_privilege(to_regclass('schema_migrations'), 'SELECT'), false)",
		NULL, &rows);
	if (err == OK)
		*out = pg_result_bool(rows, 0, 0);
	pg_result_free(rows);
	return err;
}

enum err pg_schema_version(struct pg_conn *conn, int64_t *out)
{
	bool is_readable = false;
	enum err err = can_read_migrations(conn, &is_readable);
	int64_t version = 0;
	if (err == OK && is_readable)
		err = pg_conn_query_int(conn,
		                        "SELECT coalesce(max(version), 0) FROM schema_migrations",
		                        NULL, &version);
	if (err == OK)
		*out = version;
	return err;
}
