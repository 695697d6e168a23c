#include <limits.h>

#include "lib/net/pg_conn_private.h"
#include "lib/net/pg_libpq.h"

enum err pg_conn_copy_begin(struct pg_conn *conn, const char *sql)
{
	if (conn->broken)
		return ERR_UNAVAILABLE;
	if (!PQsendQuery(conn->wire, sql))
		return pg_conn_wait_broken(conn, "postgres_connection_broke");
	struct pg_result *answer = NULL;
	enum err err = pg_conn_wait_answer(conn, pg_conn_wait_deadline(conn), &answer);
	if (err != OK)
		return err;
	if (PQresultStatus((const PGresult *)answer) == PGRES_COPY_IN)
		conn->copying = true;
	else
		err = pg_conn_judge(conn, sql, answer);
	pg_result_free(answer);
	if (err == OK && !conn->copying)
		err = ERR_INTERNAL;
	return err;
}

enum err pg_conn_copy_put(struct pg_conn *conn, const char *bytes, size_t len)
{
	if (conn->broken)
		return ERR_UNAVAILABLE;
	if (!conn->copying || len > INT_MAX)
		return ERR_INTERNAL;
	int64_t deadline_us = pg_conn_wait_deadline(conn);
	for (;;) {
		int put = PQputCopyData(conn->wire, bytes, (int)len);
		if (put < 0)
			return pg_conn_wait_broken(conn, "postgres_connection_broke");
		/* Flushing each time bounds what libpq keeps in memory. */
		enum err err = pg_conn_wait_flushed(conn, deadline_us);
		if (err != OK || put == 1)
			return err;
	}
}

enum err pg_conn_copy_end(struct pg_conn *conn)
{
	if (conn->broken)
		return ERR_UNAVAILABLE;
	if (!conn->copying)
		return ERR_INTERNAL;
	int64_t deadline_us = pg_conn_wait_deadline(conn);
	int ended = 0;
	while (ended == 0) {
		ended = PQputCopyEnd(conn->wire, NULL);
		if (ended < 0)
			return pg_conn_wait_broken(conn, "postgres_connection_broke");
		enum err err = pg_conn_wait_flushed(conn, deadline_us);
		if (err != OK)
			return err;
	}
	conn->copying = false;
	struct pg_result *answer = NULL;
	enum err err = pg_conn_wait_answer(conn, deadline_us, &answer);
	if (err == OK)
		err = pg_conn_judge(conn, "COPY", answer);
	pg_result_free(answer);
	return err;
}
