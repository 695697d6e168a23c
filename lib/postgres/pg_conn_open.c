#include <poll.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/base/thread.h"
#include "lib/postgres/pg_conn_internal.h"
#include "lib/postgres/pg_libpq.h"

#define USER_TIMEOUT_MS 10000

static void pg_conn_open_ignore_notice(void *ctx, const PGresult *notice)
{
	(void)ctx;
	(void)notice;
}

static PGconn *pg_conn_open_start(const char *url, const char *application_name,
                                  int64_t statement_timeout_ms)
{
	char user_timeout[24];
	snprintf(user_timeout, sizeof(user_timeout), "%lld",
	         (long long)(statement_timeout_ms > 0 ? statement_timeout_ms + 1000
	                                              : USER_TIMEOUT_MS));
	/* If a name appears twice, libpq uses the last value that is not NULL. */
	const char *const names[] = { "dbname",
		                      "application_name",
		                      "client_encoding",
		                      "keepalives_idle",
		                      "keepalives_interval",
		                      "keepalives_count",
		                      "tcp_user_timeout",
		                      NULL };
	const char *const values[] = { url, application_name, "UTF8", "5", "2",
		                       "3", user_timeout,     NULL };
	return PQconnectStartParams(names, values, 1);
}

static enum err pg_conn_open_finish(struct pg_conn *conn, int64_t deadline_us)
{
	PostgresPollingStatusType next = PGRES_POLLING_WRITING;
	while (PQstatus(conn->wire) != CONNECTION_BAD) {
		short ready = 0;
		short events = next == PGRES_POLLING_READING ? POLLIN : POLLOUT;
		if (thread_poll(PQsocket(conn->wire), events, deadline_us, &ready) != OK) {
			conn->timed_out = true;
			break;
		}
		next = PQconnectPoll(conn->wire);
		if (next == PGRES_POLLING_OK)
			return OK;
		if (next == PGRES_POLLING_FAILED)
			break;
	}
	return pg_conn_set_broken(conn, conn->timed_out ? "postgres_timed_out"
	                                                : "postgres_cannot_connect");
}

/*
 * Sends the settings in a statement, because poolers reject options in the start-up packet. jit is
 * off: compiling a statement of a few milliseconds takes longer than running it.
 */
static enum err pg_conn_open_settings(struct pg_conn *conn, int64_t deadline_us)
{
	static const char sql[] =
		"SELECT set_config('TimeZone', 'UTC', false), set_config('DateStyle', 'ISO', false), "
		"set_config('bytea_output', 'hex', false), set_config('jit', 'off', false), "
		"set_config('statement_timeout', $1, false), "
		"set_config('idle_in_transaction_session_timeout', $2, false)";
	char timeouts[2][24];
	snprintf(timeouts[0], sizeof(timeouts[0]), "%lld", (long long)conn->statement_timeout_ms);
	snprintf(timeouts[1], sizeof(timeouts[1]), "%lld",
	         (long long)conn->statement_timeout_ms * 2);
	const char *const values[] = { timeouts[0], timeouts[1] };
	if (!PQsendQueryParams(conn->wire, sql, 2, NULL, values, NULL, NULL, 0))
		return pg_conn_set_broken(conn, "postgres_cannot_connect");
	struct pg_result *result = NULL;
	enum err err = pg_conn_wait_result(conn, deadline_us, &result);
	if (err == OK)
		err = pg_conn_check_result(conn, sql, result);
	pg_result_free(result);
	return err == OK ? OK : ERR_UNAVAILABLE;
}

static enum err pg_conn_open_as(bool is_pooled, const char *url, const char *application_name,
                                int64_t timeout_ms, int64_t statement_timeout_ms,
                                const struct log *log, struct pg_conn **out)
{
	int64_t deadline_us = clock_steady_us(clock_system()) + timeout_ms * CLOCK_US_PER_MS;
	struct pg_conn *conn = mem_zero(sizeof(*conn));
	conn->is_pooled = is_pooled;
	conn->log = log;
	conn->statement_timeout_ms = statement_timeout_ms;
	conn->wire = pg_conn_open_start(url, application_name, statement_timeout_ms);
	if (!conn->wire)
		abort(); /* out of memory */
	enum err err = pg_conn_open_finish(conn, deadline_us);
	if (err == OK && PQsetnonblocking(conn->wire, 1) != 0)
		err = pg_conn_set_broken(conn, "postgres_cannot_connect");
	if (err == OK)
		PQsetNoticeReceiver(conn->wire, pg_conn_open_ignore_notice, NULL);
	if (err == OK && !is_pooled)
		err = pg_conn_open_settings(conn, deadline_us);
	if (err == OK)
		*out = conn;
	else
		pg_conn_close(conn);
	return err;
}

enum err pg_conn_open(const char *url, const char *application_name, int64_t timeout_ms,
                      int64_t statement_timeout_ms, const struct log *log, struct pg_conn **out)
{
	return pg_conn_open_as(false, url, application_name, timeout_ms, statement_timeout_ms, log,
	                       out);
}

enum err pg_conn_open_pooled(const char *url, const char *application_name, int64_t timeout_ms,
                             int64_t statement_timeout_ms, const struct log *log,
                             struct pg_conn **out)
{
	return pg_conn_open_as(true, url, application_name, timeout_ms, statement_timeout_ms, log,
	                       out);
}
