#include "lib/postgres/pg_conn.h"

#include <poll.h>

#include "lib/base/array.h"
#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/postgres/pg_conn_internal.h"
#include "lib/postgres/pg_libpq.h"

/* How much of a COPY is put into libpq's buffer before it is sent. */
#define PART_BYTES ((size_t)64 * 1024)

void pg_conn_close(struct pg_conn *conn)
{
	if (!conn)
		return;
	PQfinish(conn->wire);
	free(conn);
}

void pg_conn_set_log(struct pg_conn *conn, const struct log *log)
{
	conn->log = log;
}

bool pg_conn_is_usable(const struct pg_conn *conn)
{
	return !conn->broken;
}

bool pg_conn_timed_out(const struct pg_conn *conn)
{
	return conn->timed_out;
}

bool pg_conn_is_alive(struct pg_conn *conn)
{
	struct pollfd fd = { .fd = PQsocket(conn->wire), .events = POLLIN };
	/* Several reads: a notice or a changed setting may come before the end of the stream. */
	for (int i = 0; i < 4 && !conn->broken && poll(&fd, 1, 0) != 0; i++) {
		if (!PQconsumeInput(conn->wire))
			conn->broken = true;
	}
	return !conn->broken;
}

bool pg_conn_in_transaction(const struct pg_conn *conn)
{
	return conn->in_transaction;
}

const char *pg_conn_constraint(const struct pg_conn *conn)
{
	return conn->constraint;
}

const char *pg_conn_message(const struct pg_conn *conn)
{
	return conn->message;
}

enum err pg_conn_set_broken(struct pg_conn *conn, const char *event)
{
	const char *text = PQerrorMessage(conn->wire);
	snprintf(conn->message, sizeof(conn->message), "%.*s", (int)strcspn(text, "\n"), text);
	conn->broken = true;
	log_limited_warning(conn->log, event, LOG_TEXT("message", conn->message));
	return ERR_UNAVAILABLE;
}

struct sqlstate_rule {
	/* Of the SQLSTATE; the first match applies. */
	const char *prefix;
	enum err err;
	bool breaks_connection;
};

static const struct sqlstate_rule rules[] = {
	{ "08", ERR_UNAVAILABLE, true }, /* connection exception */
	{ "0A000", ERR_UNAVAILABLE,
	  true }, /* "cached plan must not change result type": a new connection plans anew */
	{ "22", ERR_INVALID, false },       /* data exception */
	{ "23502", ERR_INVALID, false },    /* not-null violation */
	{ "23514", ERR_INVALID, false },    /* check violation */
	{ "23", ERR_CONFLICT, false },      /* unique, foreign key, exclusion */
	{ "25006", ERR_UNAVAILABLE, true }, /* read-only: this server is a standby now */
	{ "25P03", ERR_UNAVAILABLE, true }, /* idle in transaction for too long */
	{ "26000", ERR_UNAVAILABLE, true }, /* our prepared statement is gone */
	{ "28", ERR_UNAVAILABLE, true },    /* the password is being changed, or is wrong */
	{ "3D000", ERR_UNAVAILABLE, true }, /* the database does not exist, yet */
	{ "40", ERR_CONFLICT, false },      /* serialization failure, deadlock */
	{ "53", ERR_UNAVAILABLE, false },   /* out of disk, memory or connections */
	{ "55P03", ERR_LIMIT, false },      /* lock_timeout */
	{ "57014", ERR_LIMIT, false },      /* statement_timeout */
	{ "57", ERR_UNAVAILABLE, true },    /* shutting down, starting up, terminated */
	{ "58", ERR_UNAVAILABLE, false },   /* the server's disk */
};

static const struct sqlstate_rule *sqlstate_rule_of(const char *sqlstate)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (strncmp(sqlstate, rules[i].prefix, strlen(rules[i].prefix)) == 0)
			return &rules[i];
	}
	return NULL;
}

enum err pg_conn_sqlstate_err(const char *sqlstate)
{
	if (!sqlstate)
		return ERR_UNAVAILABLE;
	const struct sqlstate_rule *rule = sqlstate_rule_of(sqlstate);
	return rule ? rule->err : ERR_INTERNAL;
}

bool pg_conn_sqlstate_breaks(const char *sqlstate)
{
	if (!sqlstate)
		return true;
	const struct sqlstate_rule *rule = sqlstate_rule_of(sqlstate);
	return rule && rule->breaks_connection;
}

static const char *pg_conn_error_field(const PGresult *result, int field)
{
	const char *text = PQresultErrorField(result, field);
	return text ? text : "";
}

static void pg_conn_log_failure(const struct pg_conn *conn, enum err err, const char *sqlstate,
                                const char *sql)
{
	/* The caller handles rejected and conflicting rows, and the message would quote the row. */
	if (err == ERR_INVALID || err == ERR_CONFLICT)
		return;
	enum log_level level = err == ERR_INTERNAL ? LOG_ERROR : LOG_WARNING;
	LOG_LIMITED_AT(conn->log, level, "postgres_statement_failed",
	               LOG_TEXT("sqlstate", sqlstate), LOG_TEXT("message", conn->message),
	               LOG_TEXT("statement", sql));
}

enum err pg_conn_check_result(struct pg_conn *conn, const char *sql, const struct pg_result *result)
{
	const PGresult *foreign = (const PGresult *)result;
	ExecStatusType status = PQresultStatus(foreign);
	if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
		return OK;
	if (status != PGRES_FATAL_ERROR) {
		log_error(conn->log, "postgres_unexpected_result",
		          LOG_TEXT("status", PQresStatus(status)), LOG_TEXT("statement", sql));
		conn->broken = true;
		return ERR_INTERNAL;
	}
	const char *sqlstate = PQresultErrorField(foreign, PG_DIAG_SQLSTATE);
	enum err err = pg_conn_sqlstate_err(sqlstate);
	if (err == ERR_LIMIT)
		conn->waited_in_vain = true;
	if (pg_conn_sqlstate_breaks(sqlstate) || PQstatus(conn->wire) == CONNECTION_BAD)
		conn->broken = true;
	snprintf(conn->constraint, sizeof(conn->constraint), "%s",
	         pg_conn_error_field(foreign, PG_DIAG_CONSTRAINT_NAME));
	snprintf(conn->message, sizeof(conn->message), "%s",
	         pg_conn_error_field(foreign, PG_DIAG_MESSAGE_PRIMARY));
	pg_conn_log_failure(conn, err, sqlstate ? sqlstate : "", sql);
	return err;
}

/* After a successful PQsend…: waits, checks, and returns the rows. */
static enum err pg_conn_finish(struct pg_conn *conn, const char *sql, struct pg_result **rows)
{
	struct pg_result *result = NULL;
	enum err err = pg_conn_wait_result(conn, pg_conn_wait_deadline(conn), &result);
	if (err == OK)
		err = pg_conn_check_result(conn, sql, result);
	if (err == OK && rows)
		*rows = result;
	else
		pg_result_free(result);
	return err;
}

static enum err pg_conn_check_sent(struct pg_conn *conn, int sent)
{
	return sent ? OK : pg_conn_set_broken(conn, "postgres_connection_lost");
}

/* Clears the last failure. ERR_UNAVAILABLE: the connection is broken, nothing can be sent. */
static enum err pg_conn_prepare_send(struct pg_conn *conn, const struct pg_params *params)
{
	conn->constraint[0] = '\0';
	conn->message[0] = '\0';
	if (conn->broken)
		return ERR_UNAVAILABLE;
	if (params && params->count > PG_PARAMS_MAX) {
		log_error(conn->log, "postgres_too_many_params", LOG_INT("params", params->count));
		return ERR_INTERNAL;
	}
	return OK;
}

static enum err pg_conn_prepare(struct pg_conn *conn, const char *sql, char *name, size_t size)
{
	size_t i = 0;
	while (i < conn->prepared_count && conn->prepared[i] != sql)
		i++;
	snprintf(name, size, "s%zu", i);
	if (i < conn->prepared_count)
		return OK;
	enum err err = pg_conn_check_sent(conn, PQsendPrepare(conn->wire, name, sql, 0, NULL));
	if (err == OK)
		err = pg_conn_finish(conn, sql, NULL);
	if (err == OK)
		conn->prepared[conn->prepared_count++] = sql;
	return err;
}

/* Without preparing. The server infers the parameter types, as for a prepared statement. */
static enum err pg_conn_query_unprepared(struct pg_conn *conn, const char *sql,
                                         const struct pg_params *p, struct pg_result **rows)
{
	enum err err =
		pg_conn_check_sent(conn, PQsendQueryParams(conn->wire, sql, p->count, NULL,
	                                                   p->values, p->lengths, p->formats, 0));
	return err == OK ? pg_conn_finish(conn, sql, rows) : err;
}

enum err pg_conn_query(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                       struct pg_result **rows)
{
	static const struct pg_params none;
	const struct pg_params *p = params ? params : &none;
	enum err err = pg_conn_prepare_send(conn, p);
	if (err != OK)
		return err;
	if (conn->is_pooled)
		return pg_conn_query_unprepared(conn, sql, p, rows);
	if (conn->prepared_count == PG_CONN_PREPARED_MAX)
		return pg_conn_query_once(conn, sql, params, rows);
	char name[24];
	err = pg_conn_prepare(conn, sql, name, sizeof(name));
	if (err != OK)
		return err;
	err = pg_conn_check_sent(conn, PQsendQueryPrepared(conn->wire, name, p->count, p->values,
	                                                   p->lengths, p->formats, 0));
	return err == OK ? pg_conn_finish(conn, sql, rows) : err;
}

enum err pg_conn_query_int(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                           int64_t *out)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, sql, params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_NOT_FOUND;
	if (err == OK)
		*out = pg_result_int(rows, 0, 0);
	pg_result_free(rows);
	return err;
}

enum err pg_conn_query_once(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                            struct pg_result **rows)
{
	static const struct pg_params none;
	const struct pg_params *p = params ? params : &none;
	enum err err = pg_conn_prepare_send(conn, p);
	if (err != OK)
		return err;
	err = pg_conn_check_sent(conn, PQsendQueryParams(conn->wire, sql, p->count, p->types,
	                                                 p->values, p->lengths, p->formats, 0));
	return err == OK ? pg_conn_finish(conn, sql, rows) : err;
}

static enum err pg_conn_stream_send(struct pg_conn *conn, const char *sql,
                                    const struct pg_params *p)
{
	enum err err = pg_conn_prepare_send(conn, p);
	if (err != OK)
		return err;
	return pg_conn_check_sent(conn, PQsendQueryParams(conn->wire, sql, p->count, p->types,
	                                                  p->values, p->lengths, p->formats, 0) &&
	                                        PQsetSingleRowMode(conn->wire));
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

enum err pg_conn_copy_begin(struct pg_conn *conn, const char *sql)
{
	struct pg_result *result = NULL;
	conn->copy_sql = sql;
	conn->copy_deadline_us = pg_conn_wait_deadline(conn);
	enum err err = pg_conn_prepare_send(conn, NULL);
	if (err == OK)
		err = pg_conn_check_sent(conn, PQsendQuery(conn->wire, sql));
	if (err == OK)
		err = pg_conn_wait_result(conn, conn->copy_deadline_us, &result);
	if (err == OK && PQresultStatus((PGresult *)result) != PGRES_COPY_IN) {
		err = pg_conn_check_result(conn, sql, result);
		if (err == OK)
			err = ERR_INTERNAL; /* not a COPY */
	}
	pg_result_free(result);
	return err;
}

/* A server that rejects a row reads the rest first, so the error arrives after the end. */
enum err pg_conn_copy_put(struct pg_conn *conn, const void *bytes, size_t len)
{
	const char *left = bytes;
	while (len > 0) {
		size_t part = len < PART_BYTES ? len : PART_BYTES;
		enum err err =
			pg_conn_check_sent(conn, PQputCopyData(conn->wire, left, (int)part) == 1);
		if (err == OK)
			err = pg_conn_wait_flushed(conn, conn->copy_deadline_us);
		if (err != OK)
			return err;
		left += part;
		len -= part;
	}
	return OK;
}

enum err pg_conn_copy_end(struct pg_conn *conn)
{
	struct pg_result *result = NULL;
	enum err err = pg_conn_check_sent(conn, PQputCopyEnd(conn->wire, NULL) == 1);
	if (err == OK)
		err = pg_conn_wait_result(conn, conn->copy_deadline_us, &result);
	if (err == OK)
		err = pg_conn_check_result(conn, conn->copy_sql, result);
	pg_result_free(result);
	return err;
}

enum err pg_conn_copy(struct pg_conn *conn, const char *sql, const void *bytes, size_t len)
{
	enum err err = pg_conn_copy_begin(conn, sql);
	if (err == OK)
		err = pg_conn_copy_put(conn, bytes, len);
	return err == OK ? pg_conn_copy_end(conn) : err;
}

/* The simple protocol: any number of statements, no parameters. */
static enum err pg_conn_simple(struct pg_conn *conn, const char *sql, struct pg_result **rows)
{
	enum err err = pg_conn_prepare_send(conn, NULL);
	if (err == OK)
		err = pg_conn_check_sent(conn, PQsendQuery(conn->wire, sql));
	return err == OK ? pg_conn_finish(conn, sql, rows) : err;
}

enum err pg_conn_script(struct pg_conn *conn, const char *sql)
{
	enum err err = pg_conn_simple(conn, sql, NULL);
	bool open = PQtransactionStatus(conn->wire) != PQTRANS_IDLE;
	if (err == OK && open != conn->in_transaction) {
		snprintf(conn->message, sizeof(conn->message),
		         "the script begins or ends a transaction");
		conn->broken = true;
		return ERR_INTERNAL;
	}
	return err;
}

enum err pg_conn_begin(struct pg_conn *conn)
{
	if (conn->in_transaction)
		return ERR_INTERNAL;
	enum err err = pg_conn_simple(conn, "BEGIN", NULL);
	conn->in_transaction = err == OK;
	return err;
}

enum err pg_conn_commit(struct pg_conn *conn)
{
	if (!conn->in_transaction)
		return ERR_INTERNAL;
	struct pg_result *result = NULL;
	enum err err = pg_conn_simple(conn, "COMMIT", &result);
	/* COMMIT in a failed transaction succeeds with the command tag ROLLBACK. */
	if (err == OK && strcmp(PQcmdStatus((PGresult *)result), "COMMIT") != 0)
		err = ERR_INTERNAL;
	conn->in_transaction = false;
	pg_result_free(result);
	return err;
}

/* Keeps the constraint and the message of the failure before. */
void pg_conn_rollback(struct pg_conn *conn)
{
	static const char sql[] = "ROLLBACK";
	if (conn->in_transaction && !conn->broken) {
		enum err err = pg_conn_check_sent(conn, PQsendQuery(conn->wire, sql));
		if (err != OK || pg_conn_finish(conn, sql, NULL) != OK)
			conn->broken = true;
	}
	conn->in_transaction = false;
}

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
