/*
 * One thread at a time. What the files of pg_conn share; nobody else includes it.
 */
#ifndef WAYMARK_LIB_NET_PG_CONN_PRIVATE_H
#define WAYMARK_LIB_NET_PG_CONN_PRIVATE_H

#include "lib/net/pg_conn.h"

#define PG_CONN_PREPARED_MAX 128

struct libpq_conn;

struct pg_conn {
	struct libpq_conn *wire;
	const struct log *log;
	int64_t statement_timeout_ms;
	bool broken;
	bool timed_out;
	bool in_transaction;
	bool is_pooled;
	size_t prepared_count;
	const char *prepared[PG_CONN_PREPARED_MAX]; /* statement "s<i>" has the text at prepared[i] */
	char constraint[64];
	char message[256];
};

/* Steady microseconds until which the server must have answered what is sent now. */
int64_t pg_conn_wait_deadline(const struct pg_conn *conn);

/* Until the socket is ready for events (poll's) or the deadline: ERR_LIMIT. */
enum err pg_conn_wait_socket(struct pg_conn *conn, short events, int64_t deadline_us, short *ready) MUST_CHECK;

/* Until what libpq holds back is sent, or the deadline. ERR_UNAVAILABLE: broken (logged). */
enum err pg_conn_wait_flushed(struct pg_conn *conn, int64_t deadline_us) MUST_CHECK;

/*
 * Until the statement is done; the answer is its last result, which is the error if there was one. Answers at once when
 * the server waits for COPY data. ERR_UNAVAILABLE: broken (logged).
 */
enum err pg_conn_wait_answer(struct pg_conn *conn, int64_t deadline_us, struct pg_result **answer) MUST_CHECK;

/* Marks the connection as broken by what libpq says, and logs it. Always ERR_UNAVAILABLE. */
enum err pg_conn_wait_broken(struct pg_conn *conn, const char *event);

/* Whether a statement can be sent now; forgets the failure before. */
enum err pg_conn_ready(struct pg_conn *conn, const struct pg_params *params) MUST_CHECK;

/* Turns an answer into an error; keeps and logs the server's words. Borrows the answer. */
enum err pg_conn_judge(struct pg_conn *conn, const char *sql, const struct pg_result *answer) MUST_CHECK;

#endif
