/* One thread at a time. What the pg_conn_* files share. Private to them. */
#ifndef WAYMARK_LIB_POSTGRES_PG_CONN_INTERNAL_H
#define WAYMARK_LIB_POSTGRES_PG_CONN_INTERNAL_H

#include "lib/postgres/pg_conn.h"

#define PG_CONN_PREPARED_MAX 128

struct libpq_conn;

struct pg_conn {
	struct libpq_conn *wire;
	const struct log *log;
	int64_t statement_timeout_ms;
	bool broken;
	bool timed_out;
	bool in_transaction;
	/* A statement ended with ERR_LIMIT; see pg_conn_frozen_terminate. */
	bool waited_in_vain;
	bool is_pooled;
	size_t prepared_count;
	/* prepared[i] is the text of statement "s<i>". */
	const char *prepared[PG_CONN_PREPARED_MAX];
	/* Of the COPY that pg_conn_copy_begin began; steady. */
	const char *copy_sql;
	int64_t copy_deadline_us;
	char constraint[64];
	char message[256];
};

/* The steady time in µs by which the server must have responded to a statement sent now. */
int64_t pg_conn_wait_deadline(const struct pg_conn *conn);

/* Waits until libpq has sent its buffer. ERR_UNAVAILABLE: broken or too late (logged). */
enum err pg_conn_wait_flushed(struct pg_conn *conn, int64_t deadline_us) MUST_CHECK;

/*
 * Waits for libpq's next result; NULL: the statement has ended. ERR_UNAVAILABLE: broken, or the
 * deadline passed (logged).
 */
enum err pg_conn_wait_next_result(struct pg_conn *conn, int64_t deadline_us,
                                  struct pg_result **next) MUST_CHECK;

/*
 * Waits until the statement ends, and returns its last result, which is the error if there was one.
 * Returns at once when the server waits for COPY data. ERR_UNAVAILABLE: broken, or the deadline
 * passed (logged).
 */
enum err pg_conn_wait_result(struct pg_conn *conn, int64_t deadline_us,
                             struct pg_result **result) MUST_CHECK;

/* Marks the connection as broken and logs libpq's message. Always ERR_UNAVAILABLE. */
enum err pg_conn_set_broken(struct pg_conn *conn, const char *event);

/* Maps a result to an error; stores and logs the server's message. Borrows the result. */
enum err pg_conn_check_result(struct pg_conn *conn, const char *sql,
                              const struct pg_result *result) MUST_CHECK;

/*
 * Maps an SQLSTATE (PostgreSQL manual, appendix A) to our errors; never OK. sqlstate: five
 * characters; NULL: the connection broke before the server's report.
 */
enum err pg_conn_sqlstate_err(const char *sqlstate) MUST_CHECK;

/* Whether the connection is useless after this error, although it may still be open. */
bool pg_conn_sqlstate_breaks(const char *sqlstate);

#endif
