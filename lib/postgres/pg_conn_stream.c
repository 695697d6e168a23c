#include "lib/postgres/pg_conn_internal.h"
#include "lib/postgres/pg_libpq.h"

static enum err pg_conn_stream_send(struct pg_conn *conn, const char *sql,
                                    const struct pg_params *p)
{
	enum err err = pg_conn_prepare_send(conn, p);
	if (err == OK && (!PQsendQueryParams(conn->wire, sql, p->count, p->types, p->values,
	                                     p->lengths, p->formats, 0) ||
	                  !PQsetSingleRowMode(conn->wire)))
		err = pg_conn_set_broken(conn, "postgres_connection_lost");
	return err;
}

static enum err pg_conn_stream_row(struct pg_conn *conn, const char *sql,
                                   const struct pg_result *row, pg_conn_row_fn on_row, void *ctx)
{
	enum err err = on_row(ctx, row);
	if (err != OK)
		log_error(conn->log, "postgres_row_rejected", LOG_TEXT("error", err_name(err)),
		          LOG_TEXT("statement", sql));
	return err;
}

enum err pg_conn_stream(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                        pg_conn_row_fn on_row, void *ctx)
{
	static const struct pg_params none;
	int64_t deadline_us = pg_conn_wait_deadline(conn);
	enum err err = pg_conn_stream_send(conn, sql, params ? params : &none);
	if (err != OK)
		return err;
	/* The rows after an error are read as well, because the connection is used again. */
	for (bool has_begun = false;; has_begun = true) {
		struct pg_result *next = NULL;
		enum err own = pg_conn_wait_next_result(conn, deadline_us, &next);
		if (own != OK)
			return own;
		if (!next && !has_begun)
			return pg_conn_set_broken(conn, "postgres_connection_lost");
		if (!next)
			return err;
		bool is_row = PQresultStatus((PGresult *)next) == PGRES_SINGLE_TUPLE;
		if (!is_row)
			own = pg_conn_check_result(conn, sql, next);
		else if (err == OK)
			own = pg_conn_stream_row(conn, sql, next, on_row, ctx);
		if (err == OK)
			err = own;
		pg_result_free(next);
	}
}
