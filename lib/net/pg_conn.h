/*
 * One thread at a time per connection. One connection to PostgreSQL (libpq), its statements and their results. Most
 * code gets its connections from a pg_pool.
 *
 *   struct pg_params p = { 0 };
 *   pg_params_text(&p, slug);
 *   struct pg_result *rows = NULL;
 *   err = pg_conn_query(conn, "SELECT id, original_url FROM links WHERE slug = $1", &p, &rows);
 *   if (err == OK && pg_result_count(rows) == 1) id = pg_result_int(rows, 0, 0);
 *   pg_result_free(rows);
 */
#ifndef WAYMARK_LIB_NET_PG_CONN_H
#define WAYMARK_LIB_NET_PG_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/net/pg_params.h"
#include "lib/net/pg_result.h"

struct pg_conn;

/* Whether libpq can read url; says nothing about the server. For checks of configurations. */
bool pg_conn_url_is_valid(const char *url);

/*
 * Opens a connection; waits at most timeout_ms (after name resolution, which the resolver bounds). url: libpq's (URI or
 * key=value). statement_timeout_ms 0 = none. Sets application_name, TimeZone=UTC, client_encoding UTF8, TCP keep-alive
 * and tcp_user_timeout. ERR_UNAVAILABLE: logged.
 *
 * A server that has not answered a statement statement_timeout_ms + 1 s after it was sent is taken for dead: the
 * connection is not usable any more. No cancel request is sent (a frozen server would swallow it, and PQcancel blocks);
 * the server ends the statement by its own timeout. A transaction in which we say nothing for twice the statement
 * timeout is ended by the server, so that a frozen client does not keep its locks.
 */
enum err pg_conn_open(const char *url, const char *application_name, int64_t timeout_ms, int64_t statement_timeout_ms,
                      const struct log *log, struct pg_conn **out) MUST_CHECK;
/*
 * The same through a pooler that gives each transaction another connection of the server (PgBouncer in transaction mode):
 * nothing is prepared, and nothing is set, so the login itself needs these settings. No LISTEN.
 */
enum err pg_conn_open_pooled(const char *url, const char *application_name, int64_t timeout_ms,
                             int64_t statement_timeout_ms, const struct log *log, struct pg_conn **out) MUST_CHECK;
void pg_conn_close(struct pg_conn *conn);

/* NULL: nothing is logged. */
void pg_conn_set_log(struct pg_conn *conn, const struct log *log);

/* False after any failure that leaves the connection's state in doubt; it can only be closed then. */
bool pg_conn_usable(const struct pg_conn *conn);
/* Whether it failed because the server did not answer in time: others to the same server may hang as well. */
bool pg_conn_timed_out(const struct pg_conn *conn);
/* For a connection that has been idle: looks, without waiting, whether the server has closed it meanwhile. */
bool pg_conn_is_alive(struct pg_conn *conn);
/* True between pg_conn_begin and its end. */
bool pg_conn_in_transaction(const struct pg_conn *conn);

/*
 * One statement. Statements with text that is the same pointer are prepared once per connection: sql must be a literal
 * (or live as long as the program). params may be NULL; rows may be NULL if nobody wants them.
 *   ERR_CONFLICT     unique, exclusion, foreign key or serialization violation; pg_conn_constraint names it
 *   ERR_INVALID      the data was refused (check violation, bad text, out of range)
 *   ERR_LIMIT        the statement's timeout, or the session's lock_timeout
 *   ERR_UNAVAILABLE  the connection broke, the server shuts down, or it cannot write
 *   ERR_INTERNAL     anything else: a bug in the SQL; logged
 * A failed statement inside a transaction makes every further one fail until pg_conn_rollback.
 */
enum err pg_conn_query(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                       struct pg_result **rows) MUST_CHECK;
/* A statement that gives one number. ERR_NOT_FOUND also: it gave no row, or several; then *out is as it was. */
enum err pg_conn_query_int(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                           int64_t *out) MUST_CHECK;
/* For SQL text that is built at run time: not prepared. */
enum err pg_conn_query_once(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                            struct pg_result **rows) MUST_CHECK;
/*
 * Any number of statements without parameters, one after the other, as a file of SQL has them. ERR_INTERNAL also when
 * they begin or end a transaction.
 */
enum err pg_conn_script(struct pg_conn *conn, const char *sql) MUST_CHECK;
/* The server's words for the last failure, "" if none. For operators' tools only: they may quote data. */
const char *pg_conn_message(const struct pg_conn *conn);
/* The constraint of the last ERR_CONFLICT or ERR_INVALID, "" if none. */
const char *pg_conn_constraint(const struct pg_conn *conn);

/*
 * COPY … FROM STDIN: sql, then the rows (sql_copy.h). Errors as of pg_conn_query. Of all statements this one alone needs
 * us until its last byte: a client that is frozen before keeps the transaction's locks, and no timeout of the server
 * ends that. Whoever waits for them has to (pg_conn_copy_cut_frozen).
 */
enum err pg_conn_copy(struct pg_conn *conn, const char *sql, const void *bytes, size_t len) MUST_CHECK;

/*
 * Ends the connections of the same user that have been in a COPY into table for twice our statement timeout and whose
 * client says nothing: it is frozen, or it would have given up. *cut: how many.
 */
enum err pg_conn_copy_cut_frozen(struct pg_conn *conn, const char *table, int64_t *cut) MUST_CHECK;

enum err pg_conn_begin(struct pg_conn *conn) MUST_CHECK;
/*
 * ERR_UNAVAILABLE here means that nobody knows whether it was committed; everything else but OK means it was not.
 */
enum err pg_conn_commit(struct pg_conn *conn) MUST_CHECK;
/* Never fails for the caller: a connection that cannot roll back is not usable any more. */
void pg_conn_rollback(struct pg_conn *conn);

/* LISTEN/NOTIFY: waits at most timeout_ms for a notification on a channel that was LISTENed to; OK = one came (more
 * that came together are swallowed), ERR_NOT_FOUND = none in time, ERR_UNAVAILABLE = broken. */
enum err pg_conn_wait_notification(struct pg_conn *conn, int64_t timeout_ms) MUST_CHECK;

#endif
