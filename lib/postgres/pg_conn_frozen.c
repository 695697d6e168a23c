#include "lib/postgres/pg_conn_internal.h"

/*
 * A server process is active and waits for its client (ClientRead) only if a part of the statement
 * is missing. application_name: not an operator's COPY with the login of a service. pg_has_role:
 * PostgreSQL refuses to terminate connections of other users, and SET ROLE makes ours another one.
 */
#define FROZEN                                                                                        \
	"usename = session_user AND pg_has_role(usesysid, 'USAGE') AND datname = current_database() " \
	"AND application_name = current_setting('application_name') AND state = 'active' "            \
	"AND wait_event = 'ClientRead' "                                                              \
	"AND query_start < clock_timestamp() - $1::bigint * interval '2 milliseconds'"

void pg_conn_frozen_terminate(struct pg_conn *conn)
{
	if (!conn->waited_in_vain || conn->broken || conn->statement_timeout_ms == 0)
		return;
	conn->waited_in_vain = false;
	struct pg_params params = { 0 };
	pg_params_int(&params, conn->statement_timeout_ms);
	int64_t count = 0;
	enum err err = pg_conn_query_int(conn,
	                                 "SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) "
	                                 "FROM pg_stat_activity WHERE " FROZEN,
	                                 &params, &count);
	if (err == OK && count > 0)
		log_warning(conn->log, "frozen_connections_terminated", LOG_INT("count", count));
}
