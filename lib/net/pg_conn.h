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

#define PG_PARAMS_MAX 40

struct pg_conn;
struct pg_result;

/* Parameters $1, $2, … in the order they are added. Texts and bytes are borrowed until the statement has run. */
struct pg_params {
	int count;
	const char *values[PG_PARAMS_MAX];
	int lengths[PG_PARAMS_MAX];
	int formats[PG_PARAMS_MAX];
	char numbers[PG_PARAMS_MAX][40];
};

void pg_params_text(struct pg_params *p, const char *text); /* NULL = SQL NULL */
void pg_params_int(struct pg_params *p, int64_t value);
void pg_params_double(struct pg_params *p, double value);
void pg_params_bool(struct pg_params *p, bool value);
void pg_params_bytes(struct pg_params *p, const void *bytes, size_t len); /* bytea */
/* Microseconds since 1970-01-01T00:00:00Z, exact. */
void pg_params_time(struct pg_params *p, int64_t time_us);
/* The same, 0 = SQL NULL. */
void pg_params_time_or_null(struct pg_params *p, int64_t time_us);
/* Days since 1970-01-01, as a date. */
void pg_params_day(struct pg_params *p, int32_t day);
void pg_params_null(struct pg_params *p);

/*
 * Opens a connection; waits at most timeout_ms. url: libpq's (URI or key=value). statement_timeout_ms 0 = none. Sets
 * application_name, TimeZone=UTC, client_encoding UTF8, TCP keep-alive and tcp_user_timeout. ERR_UNAVAILABLE: logged.
 */
enum err pg_conn_open(const char *url, const char *application_name, int64_t timeout_ms, int64_t statement_timeout_ms,
                      const struct log *log, struct pg_conn **out) MUST_CHECK;
void pg_conn_close(struct pg_conn *conn);

/* False after any failure that leaves the connection's state in doubt; it can only be closed then. */
bool pg_conn_usable(const struct pg_conn *conn);
/* True between pg_conn_begin and its end. */
bool pg_conn_in_transaction(const struct pg_conn *conn);

/*
 * One statement. Statements with text that is the same pointer are prepared once per connection: sql must be a literal
 * (or live as long as the program). params may be NULL; rows may be NULL if nobody wants them.
 *   ERR_CONFLICT     unique, exclusion, foreign key or serialization violation; pg_conn_constraint names it
 *   ERR_INVALID      the data was refused (check violation, bad text, out of range)
 *   ERR_LIMIT        the statement's timeout
 *   ERR_UNAVAILABLE  the connection broke, the server shuts down, or it cannot write
 *   ERR_INTERNAL     anything else: a bug in the SQL; logged
 * A failed statement inside a transaction makes every further one fail until pg_conn_rollback.
 */
enum err pg_conn_query(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                       struct pg_result **rows) MUST_CHECK;
/* For SQL text that is built at run time: not prepared. */
enum err pg_conn_query_once(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                            struct pg_result **rows) MUST_CHECK;
/* The constraint of the last ERR_CONFLICT or ERR_INVALID, "" if none. */
const char *pg_conn_constraint(const struct pg_conn *conn);

enum err pg_conn_begin(struct pg_conn *conn) MUST_CHECK;
/*
 * ERR_UNAVAILABLE here means that nobody knows whether it was committed; everything else but OK means it was not.
 */
enum err pg_conn_commit(struct pg_conn *conn) MUST_CHECK;
/* Never fails for the caller: a connection that cannot roll back is not usable any more. */
void pg_conn_rollback(struct pg_conn *conn);

/* COPY … FROM STDIN in text format: begin, put any number of times, end (which reports what failed). */
enum err pg_conn_copy_begin(struct pg_conn *conn, const char *sql) MUST_CHECK;
enum err pg_conn_copy_put(struct pg_conn *conn, const char *bytes, size_t len) MUST_CHECK;
enum err pg_conn_copy_end(struct pg_conn *conn) MUST_CHECK;

/* LISTEN/NOTIFY: waits at most timeout_ms for a notification on a channel that was LISTENed to; OK = one came (more
 * that came together are swallowed), ERR_NOT_FOUND = none in time, ERR_UNAVAILABLE = broken. */
enum err pg_conn_wait_notification(struct pg_conn *conn, int64_t timeout_ms) MUST_CHECK;

/* Results. Columns and rows from 0. NULL reads as 0, false, "". All borrowed until free; NULL may be freed. */
size_t pg_result_count(const struct pg_result *rows);
/* Rows changed by an INSERT, UPDATE or DELETE. */
int64_t pg_result_changed(const struct pg_result *rows);
bool pg_result_is_null(const struct pg_result *rows, size_t row, int column);
const char *pg_result_text(const struct pg_result *rows, size_t row, int column);
int64_t pg_result_int(const struct pg_result *rows, size_t row, int column);
double pg_result_double(const struct pg_result *rows, size_t row, int column);
bool pg_result_bool(const struct pg_result *rows, size_t row, int column);
/* A timestamptz in microseconds since 1970-01-01T00:00:00Z; NULL reads as 0. */
int64_t pg_result_time(const struct pg_result *rows, size_t row, int column);
/* A bytea; copies at most size bytes, gives the length of the whole. */
size_t pg_result_bytes(const struct pg_result *rows, size_t row, int column, void *out, size_t size);
void pg_result_free(struct pg_result *rows);

#endif
