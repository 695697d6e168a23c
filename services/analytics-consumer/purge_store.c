#include "services/analytics-consumer/purge_store.h"

/* A statement deletes this many rows in a fraction of its timeout. */
#define ROWS_PER_CALL 5000

enum err purge_store_delete_some(struct pg_conn *conn, struct sql_column *slugs, int64_t *rows)
{
	struct pg_params params = { 0 };
	enum err err = sql_column_param(slugs, &params);
	pg_params_int(&params, ROWS_PER_CALL);
	return err == OK ? pg_conn_query_int(conn, "SELECT statistics_forget_slugs($1, $2)", &params, rows) : err;
}
