#include "lib/postgres/pg_conn_internal.h"
#include "lib/postgres/pg_libpq.h"

/* How much is put into libpq's buffer before it is sent. */
#define PART_BYTES ((size_t)64 * 1024)

static enum err pg_conn_copy_begin(struct pg_conn *conn, const char *sql, int64_t deadline_us)
{
	struct pg_result *result = NULL;
	if (!PQsendQuery(conn->wire, sql))
		return pg_conn_set_broken(conn, "postgres_connection_lost");
	enum err err = pg_conn_wait_result(conn, deadline_us, &result);
	if (err == OK && PQresultStatus((PGresult *)result) != PGRES_COPY_IN) {
		err = pg_conn_check_result(conn, sql, result);
		if (err == OK)
			err = ERR_INTERNAL; /* not a COPY */
	}
	pg_result_free(result);
	return err;
}

/* A server that rejects a row reads the rest first, so the error arrives after the end. */
static enum err pg_conn_copy_send(struct pg_conn *conn, const char *bytes, size_t len,
                                  int64_t deadline_us)
{
	while (len > 0) {
		size_t part = len < PART_BYTES ? len : PART_BYTES;
		if (PQputCopyData(conn->wire, bytes, (int)part) != 1)
			return pg_conn_set_broken(conn, "postgres_connection_lost");
		enum err err = pg_conn_wait_flushed(conn, deadline_us);
		if (err != OK)
			return err;
		bytes += part;
		len -= part;
	}
	return PQputCopyEnd(conn->wire, NULL) == 1
	               ? OK
	               : pg_conn_set_broken(conn, "postgres_connection_lost");
}

enum err pg_conn_copy(struct pg_conn *conn, const char *sql, const void *bytes, size_t len)
{
	int64_t deadline_us = pg_conn_wait_deadline(conn);
	struct pg_result *result = NULL;
	enum err err = pg_conn_prepare_send(conn, NULL);
	if (err == OK)
		err = pg_conn_copy_begin(conn, sql, deadline_us);
	if (err == OK)
		err = pg_conn_copy_send(conn, bytes, len, deadline_us);
	if (err == OK)
		err = pg_conn_wait_result(conn, deadline_us, &result);
	if (err == OK)
		err = pg_conn_check_result(conn, sql, result);
	pg_result_free(result);
	return err;
}
