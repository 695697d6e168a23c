#include "services/links-api/outbox/generation_store.h"

enum err generation_store_get(struct pg_conn *conn, struct link_cache_epoch *out)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, "SELECT generation, server FROM link_cache_generation",
	                             NULL, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_INTERNAL;
	if (err == OK) {
		out->generation = pg_result_int(rows, 0, 0);
		out->server = (uint64_t)pg_result_int(rows, 0, 1);
	}
	pg_result_free(rows);
	return err;
}

static enum err raise_in_transaction(struct pg_conn *conn, int64_t above, uint64_t server,
                                     struct link_cache_epoch *out)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, above);
	pg_params_int(&params, (int64_t)server);
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(
		conn,
		"UPDATE link_cache_generation SET generation = greatest(generation, $1::bigint) + 1, "
		"server = $2::bigint, raised_at = clock_timestamp() RETURNING generation",
		&params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_INTERNAL;
	if (err == OK)
		*out = (struct link_cache_epoch){ .server = server,
			                          .generation = pg_result_int(rows, 0, 0) };
	pg_result_free(rows);
	return err;
}

enum err generation_store_raise(struct pg_conn *conn, const struct fenced_lock *lock, int64_t above,
                                uint64_t server, struct link_cache_epoch *out)
{
	struct link_cache_epoch raised;
	enum err err = pg_conn_begin(conn);
	if (err != OK)
		return err;
	err = fenced_lock_check(lock, conn);
	if (err == OK)
		err = raise_in_transaction(conn, above, server, &raised);
	if (err == OK)
		err = pg_conn_commit(conn);
	else
		pg_conn_rollback(conn);
	if (err == OK)
		*out = raised;
	return err;
}
