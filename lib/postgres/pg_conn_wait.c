#include <poll.h>

#include "lib/base/clock.h"
#include "lib/base/thread.h"
#include "lib/postgres/pg_conn_internal.h"
#include "lib/postgres/pg_libpq.h"

#define RESPONSE_GRACE_MS 1000

int64_t pg_conn_wait_deadline(const struct pg_conn *conn)
{
	if (conn->statement_timeout_ms == 0)
		return INT64_MAX;
	return clock_steady_us(clock_system()) +
	       (conn->statement_timeout_ms + RESPONSE_GRACE_MS) * CLOCK_US_PER_MS;
}

/* Waits for the socket and reads what has arrived. */
static enum err pg_conn_wait_input(struct pg_conn *conn, short events, int64_t deadline_us)
{
	short ready = 0;
	enum err err = thread_poll(PQsocket(conn->wire), events, deadline_us, &ready);
	if (err == ERR_LIMIT) {
		conn->timed_out = true;
		return pg_conn_set_broken(conn, "postgres_timed_out");
	}
	if (err != OK)
		return pg_conn_set_broken(conn, "postgres_connection_lost");
	if ((ready & ~POLLOUT) && !PQconsumeInput(conn->wire))
		return pg_conn_set_broken(conn, "postgres_connection_lost");
	return OK;
}

enum err pg_conn_wait_flushed(struct pg_conn *conn, int64_t deadline_us)
{
	for (;;) {
		int left = PQflush(conn->wire);
		if (left == 0)
			return OK;
		if (left < 0)
			return pg_conn_set_broken(conn, "postgres_connection_lost");
		/* The server may send something before it reads more. */
		enum err err = pg_conn_wait_input(conn, POLLIN | POLLOUT, deadline_us);
		if (err != OK)
			return err;
	}
}

enum err pg_conn_wait_next_result(struct pg_conn *conn, int64_t deadline_us,
                                  struct pg_result **next)
{
	enum err err = pg_conn_wait_flushed(conn, deadline_us);
	while (err == OK && PQisBusy(conn->wire))
		err = pg_conn_wait_input(conn, POLLIN, deadline_us);
	if (err == OK)
		*next = (struct pg_result *)PQgetResult(conn->wire);
	return err;
}

enum err pg_conn_wait_result(struct pg_conn *conn, int64_t deadline_us, struct pg_result **result)
{
	struct pg_result *kept = NULL;
	for (;;) {
		struct pg_result *next = NULL;
		enum err err = pg_conn_wait_next_result(conn, deadline_us, &next);
		if (err != OK) {
			pg_result_free(kept);
			return err;
		}
		if (!next)
			break;
		pg_result_free(kept);
		kept = next;
		ExecStatusType status = PQresultStatus((PGresult *)kept);
		/* libpq returns the same result until the COPY ends. */
		if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT ||
		    status == PGRES_COPY_BOTH)
			break;
	}
	if (!kept)
		return pg_conn_set_broken(conn, "postgres_connection_lost");
	*result = kept;
	return OK;
}

enum err pg_conn_wait_notification(struct pg_conn *conn, int64_t timeout_ms)
{
	if (conn->broken)
		return ERR_UNAVAILABLE;
	int64_t deadline_us = clock_steady_us(clock_system()) + timeout_ms * CLOCK_US_PER_MS;
	for (;;) {
		bool arrived = false;
		for (PGnotify *n = PQnotifies(conn->wire); n; n = PQnotifies(conn->wire)) {
			PQfreemem(n);
			arrived = true;
		}
		if (arrived)
			return OK;
		short ready = 0;
		enum err err = thread_poll(PQsocket(conn->wire), POLLIN, deadline_us, &ready);
		if (err == ERR_LIMIT)
			return ERR_NOT_FOUND;
		if (err != OK || !PQconsumeInput(conn->wire))
			return pg_conn_set_broken(conn, "postgres_connection_lost");
	}
}
