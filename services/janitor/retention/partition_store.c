#include "services/janitor/retention/partition_store.h"

#define TEXT_OF(number) TEXT_OF_VALUE(number)
#define TEXT_OF_VALUE(number) #number

static enum err set_lock_timeout(struct pg_conn *conn)
{
	return pg_conn_query(conn,
	                     "SET LOCAL lock_timeout = " TEXT_OF(PARTITION_STORE_LOCK_TIMEOUT_MS),
	                     NULL, NULL);
}

static void add_window(struct pg_params *params, const struct partition_store_window *window)
{
	pg_params_day(params, window->oldest);
	pg_params_day(params, window->today);
	pg_params_day(params, window->newest);
}

enum err partition_store_create(struct pg_conn *conn, const struct partition_store_window *window,
                                enum partition_store_outcome *outcome)
{
	enum err err = set_lock_timeout(conn);
	if (err != OK)
		return err;
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	add_window(&params, window);
	err = pg_conn_query(
		conn,
		"SELECT visit_log_make_partition(day) FROM (SELECT day FROM visit_log_sorting UNION ALL "
		"SELECT visit_log_missing_days($1, $2, $3) LIMIT 1) AS missing (day)",
		&params, &rows);
	if (err == OK && pg_result_count(rows) == 0)
		*outcome = PARTITION_STORE_NONE_MISSING;
	else if (err == OK)
		*outcome = pg_result_is_null(rows, 0, 0) ? PARTITION_STORE_NEEDS_SORTING
		                                         : PARTITION_STORE_CREATED;
	pg_result_free(rows);
	return err;
}

enum err partition_store_sort_begin(struct pg_conn *conn,
                                    const struct partition_store_window *window)
{
	enum err err = set_lock_timeout(conn);
	if (err != OK)
		return err;
	struct pg_params params = { 0 };
	add_window(&params, window);
	return pg_conn_query(conn, "SELECT visit_log_sort_begin($1, $2, $3)", &params, NULL);
}

enum err partition_store_sort_copy(struct pg_conn *conn, int64_t limit, int64_t *rows)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, limit);
	return pg_conn_query_int(conn, "SELECT visit_log_sort_copy($1)", &params, rows);
}

enum err partition_store_sort_catch_up(struct pg_conn *conn, int64_t limit, int64_t *rows)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, limit);
	return pg_conn_query_int(conn, "SELECT visit_log_sort_catch_up($1)", &params, rows);
}

static enum err query_bool_with_lock_timeout(struct pg_conn *conn, const char *sql,
                                             const struct pg_params *params, bool *yes)
{
	int64_t answer = 0;
	enum err err = set_lock_timeout(conn);
	if (err == OK)
		err = pg_conn_query_int(conn, sql, params, &answer);
	if (err == OK)
		*yes = answer != 0;
	return err;
}

enum err partition_store_sort_finish(struct pg_conn *conn, int64_t limit, bool *finished)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, limit);
	return query_bool_with_lock_timeout(conn, "SELECT visit_log_sort_finish($1)::int", &params,
	                                    finished);
}

enum err partition_store_delete_expired_strays(struct pg_conn *conn, int32_t oldest, int64_t limit,
                                               int64_t *rows)
{
	struct pg_params params = { 0 };
	pg_params_day(&params, oldest);
	pg_params_int(&params, limit);
	return pg_conn_query_int(conn, "SELECT visit_log_delete_expired_strays($1, $2)", &params,
	                         rows);
}

enum err partition_store_drop(struct pg_conn *conn, int32_t oldest, bool *dropped)
{
	struct pg_params params = { 0 };
	pg_params_day(&params, oldest);
	return query_bool_with_lock_timeout(conn, "SELECT visit_log_drop_partition($1)::int",
	                                    &params, dropped);
}
