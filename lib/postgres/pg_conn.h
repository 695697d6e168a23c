/*
 * One thread at a time per connection. A connection to PostgreSQL (libpq) and its statements. Most
 * code acquires its connections from a pg_pool.
 *
 *   struct pg_params p = { 0 };
 *   pg_params_text(&p, slug);
 *   struct pg_result *rows = NULL;
 *   err = pg_conn_query(conn, "SELECT id, original_url FROM links WHERE slug = $1", &p, &rows);
 *   if (err == OK && pg_result_count(rows) == 1) id = pg_result_int(rows, 0, 0);
 *   pg_result_free(rows);
 */
#ifndef WAYMARK_LIB_POSTGRES_PG_CONN_H
#define WAYMARK_LIB_POSTGRES_PG_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/env.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/postgres/pg_params.h"

struct pg_conn;
struct pg_result;

/* Of PG_URL: a token as the password may have 2,000 bytes. */
#define PG_CONN_URL_SIZE 4096

/*
 * Rows of a service's table of variables. The members of its struct config have these names.
 * rights_: what the login needs.
 */
#define PG_CONN_VARS(config_, statement_timeout_ms_, rights_)                                      \
	ENV_SECRET("PG_URL", config_, pg_url, NULL, 1, "libpq connection string of " rights_),     \
		ENV_INT("PG_STATEMENT_TIMEOUT_MS", config_, pg_statement_timeout_ms,               \
	                statement_timeout_ms_, 100, 600000, "timeout of one statement")

#define PG_CONN_POOLED_VAR(config_)                                                                 \
	ENV_BOOL(                                                                                   \
		"PG_POOLED", config_, pg_pooled, "false",                                           \
		"PG_URL leads to a pooler in transaction mode: no prepared statements, no session " \
		"settings")

#define PG_CONN_WAIT_VAR(config_)                                                                  \
	ENV_INT("PG_WAIT_MS", config_, pg_wait_ms, "2000", 100, 600000,                            \
	        "how long a request waits for a free connection; a new one may take half of it")

/*
 * Checks the value of PG_URL: syntax, ports, sslmode and certificate files, with PGSSLMODE and
 * PGSSLROOTCERT of the environment. Returns the number of problems and appends one line for each to
 * problems, without any part of a password. Does not connect. Stricter than libpq: a URL has no
 * unescaped "@" but the one before the host, no unescaped "?" in a password, and no other sslmode
 * than PGSSLMODE.
 */
size_t pg_conn_url_check(const char *url, struct strbuf *problems);

/*
 * Opens a connection; waits at most timeout_ms after name resolution, which the resolver bounds.
 * url: a libpq URI or key=value string. statement_timeout_ms 0: none. Sets application_name,
 * TimeZone=UTC, client_encoding UTF8, TCP keep-alive and tcp_user_timeout. ERR_UNAVAILABLE: logged.
 *
 * If a statement has no result after statement_timeout_ms + 1 s, the server counts as dead and the
 * connection is not usable any more. No cancel request is sent, because PQcancel blocks and a
 * frozen server ignores it; the server ends the statement by its own timeout. The server ends a
 * transaction that is idle for twice the statement timeout, so a frozen client does not keep its
 * locks.
 */
enum err pg_conn_open(const char *url, const char *application_name, int64_t timeout_ms,
                      int64_t statement_timeout_ms, const struct log *log,
                      struct pg_conn **out) MUST_CHECK;
/*
 * The same through a pooler that uses another server connection for each transaction (PgBouncer in
 * transaction mode). Statements are not prepared and settings are not sent, so the database role
 * must have these settings. No LISTEN.
 */
enum err pg_conn_open_pooled(const char *url, const char *application_name, int64_t timeout_ms,
                             int64_t statement_timeout_ms, const struct log *log,
                             struct pg_conn **out) MUST_CHECK;
void pg_conn_close(struct pg_conn *conn);

/* NULL: log nothing. */
void pg_conn_set_log(struct pg_conn *conn, const struct log *log);

/* False after a failure that leaves the connection's state unknown; it can only be closed then. */
bool pg_conn_is_usable(const struct pg_conn *conn);
/* Whether the server did not respond in time. Other connections to it may hang too. */
bool pg_conn_timed_out(const struct pg_conn *conn);
/* Whether an idle connection is still open. Does not wait. */
bool pg_conn_is_alive(struct pg_conn *conn);
/* True from pg_conn_begin to pg_conn_commit or pg_conn_rollback. */
bool pg_conn_in_transaction(const struct pg_conn *conn);

/*
 * Runs one statement. It is prepared once per connection and sql pointer, so sql must be a literal
 * or live as long as the program. params may be NULL; rows may be NULL if the rows are not needed.
 * The caller frees *rows.
 *   ERR_CONFLICT     unique, exclusion, foreign key or serialization violation; pg_conn_constraint
 *                    names it
 *   ERR_INVALID      the server rejects the data (check violation, bad text, out of range)
 *   ERR_LIMIT        the statement timeout, or the session's lock_timeout
 *   ERR_UNAVAILABLE  the connection broke, the server shuts down, or it is read-only
 *   ERR_INTERNAL     anything else, such as a bug in the SQL; logged
 * After a failed statement in a transaction every further one fails until pg_conn_rollback.
 */
enum err pg_conn_query(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                       struct pg_result **rows) MUST_CHECK;
/* For one number. ERR_NOT_FOUND also: it returned no row, or several; *out is unchanged. */
enum err pg_conn_query_int(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                           int64_t *out) MUST_CHECK;
/* The same for SQL text that is built at run time: it is not prepared. */
enum err pg_conn_query_once(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                            struct pg_result **rows) MUST_CHECK;

typedef enum err (*pg_conn_row_fn)(void *ctx, const struct pg_result *row);
/*
 * The same, but each row is passed to on_row as it arrives, and then freed, so that the memory does
 * not depend on the number of rows. row has one row, 0. on_row must not use the connection. Its
 * error is logged and returned; the other rows are read and dropped. A statement may also fail
 * after some rows.
 */
enum err pg_conn_stream(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                        pg_conn_row_fn on_row, void *ctx) MUST_CHECK;
/*
 * Runs any number of statements without parameters, such as the contents of an SQL file.
 * ERR_INTERNAL also: they begin or end a transaction.
 */
enum err pg_conn_script(struct pg_conn *conn, const char *sql) MUST_CHECK;
/* The server's last error, "" if none. For operators' tools only: it may quote data. */
const char *pg_conn_message(const struct pg_conn *conn);
/* The constraint of the last ERR_CONFLICT or ERR_INVALID, "" if none. */
const char *pg_conn_constraint(const struct pg_conn *conn);

/* COPY … FROM STDIN: sql, then the rows (sql_copy.h). Errors as in pg_conn_query. */
enum err pg_conn_copy(struct pg_conn *conn, const char *sql, const void *bytes,
                      size_t len) MUST_CHECK;
/*
 * The same in steps, so that the server works on the first rows while the caller makes the others.
 * Until the end, the connection is for nothing else. sql is borrowed until then. Errors of
 * pg_conn_copy_put: ERR_UNAVAILABLE, after which there is no end. The end reports what the server
 * rejects.
 */
enum err pg_conn_copy_begin(struct pg_conn *conn, const char *sql) MUST_CHECK;
enum err pg_conn_copy_put(struct pg_conn *conn, const void *bytes, size_t len) MUST_CHECK;
enum err pg_conn_copy_end(struct pg_conn *conn) MUST_CHECK;

/*
 * If a statement has ended with ERR_LIMIT since the last call: what it waited for may be locked by
 * a frozen client of the same service. Terminates the connections of such clients and logs their
 * number: those with our user, database and application_name that have been in a statement for
 * twice our statement timeout and wait for the rest of it. A running client would have timed out.
 *
 * No timeout of the server ends these connections. libpq sends parameters of more than 8 kB, and
 * the rows of COPY, before the message that ends the statement. In between,
 * idle_in_transaction_session_timeout does not run and statement_timeout has no effect.
 *
 * Not in a transaction. pg_pool_release calls it.
 */
void pg_conn_frozen_terminate(struct pg_conn *conn);

enum err pg_conn_begin(struct pg_conn *conn) MUST_CHECK;
/* ERR_UNAVAILABLE: unknown whether it was committed. Any other error: it was not. */
enum err pg_conn_commit(struct pg_conn *conn) MUST_CHECK;
/* Never fails: a connection that cannot roll back becomes unusable instead. */
void pg_conn_rollback(struct pg_conn *conn);

/*
 * Waits at most timeout_ms for a notification on a channel of LISTEN. OK: at least one arrived;
 * those that arrive together count as one. ERR_NOT_FOUND: none in time. ERR_UNAVAILABLE: the
 * connection broke.
 */
enum err pg_conn_wait_notification(struct pg_conn *conn, int64_t timeout_ms) MUST_CHECK;

/*
 * The result of a statement. Rows and columns count from 0. SQL NULL reads as 0, false or "", and so
 * does a row or column that does not exist. Everything is borrowed until pg_result_free. A NULL
 * result has no rows and may be freed.
 */
size_t pg_result_count(const struct pg_result *rows);
/* Rows changed by an INSERT, UPDATE or DELETE. */
int64_t pg_result_changed(const struct pg_result *rows);
bool pg_result_is_null(const struct pg_result *rows, size_t row, int column);
const char *pg_result_text(const struct pg_result *rows, size_t row, int column);
int64_t pg_result_int(const struct pg_result *rows, size_t row, int column);
double pg_result_double(const struct pg_result *rows, size_t row, int column);
bool pg_result_bool(const struct pg_result *rows, size_t row, int column);
/* A timestamptz in µs since 1970-01-01T00:00:00Z; ±"infinity" is INT64_MAX or INT64_MIN. */
int64_t pg_result_time(const struct pg_result *rows, size_t row, int column);
/* A bytea. Copies at most size bytes; returns its full length. */
size_t pg_result_bytes(const struct pg_result *rows, size_t row, int column, void *out,
                       size_t size);
void pg_result_free(struct pg_result *rows);

#endif
