#include "services/analytics-consumer/purge_store.h"

/* As many as a statement deletes in a fraction of its time-out. */
#define ROWS_MAX 5000

enum err purge_store_forget_some(struct pg_conn *conn, struct sql_column *slugs, int64_t *rows)
{
	struct pg_params params = { 0 };
	enum err err = sql_column_param(slugs, &params);
	pg_params_int(&params, ROWS_MAX);
	return err == OK ? pg_conn_query_int(conn, "SELECT statistics_forget_slugs($1, $2)", &params, rows) : err;
}
