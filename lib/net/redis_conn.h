/*
 * One thread at a time. One connection to Redis (hiredis, RESP2), of no use after its first failure. Writing to one
 * that Redis has closed raises SIGPIPE: the program ignores it (shutdown_new does). For redis_pool.
 */
#ifndef WAYMARK_LIB_NET_REDIS_CONN_H
#define WAYMARK_LIB_NET_REDIS_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/net/redis_reply.h"
#include "lib/net/redis_url.h"

struct redis_conn;

/* An argument of a command. */
struct redis_arg {
	const char *bytes;
	size_t len;
};
#define REDIS_TEXT(t) ((struct redis_arg){ (t), strlen(t) })

/*
 * Connects, authenticates, selects the database and asks the server who it is; all of it within timeout_ms (after name
 * resolution), so a frozen server gives no connection. ERR_UNAVAILABLE: why (size bytes) says what happened.
 */
enum err redis_conn_open(const struct redis_url *url, int64_t timeout_ms, struct redis_conn **out, char *why,
                         size_t size) MUST_CHECK;
void redis_conn_close(struct redis_conn *conn);

/*
 * Which run of which server is at the other end: the first 64 bits of its run_id, which each start draws anew. 0: it
 * does not say (INFO is not allowed here).
 */
uint64_t redis_conn_server(const struct redis_conn *conn);

/*
 * Runs a command; the whole reply, which may be an error reply, comes within timeout_ms. ERR_UNAVAILABLE: it did not;
 * the command may or may not have run; the connection can only be closed.
 */
enum err redis_conn_call(struct redis_conn *conn, const struct redis_arg *args, size_t count, int64_t timeout_ms,
                         struct redis_reply **reply) MUST_CHECK;

/*
 * The parts of a call, for who cannot wait (redis_pipeline): push queues a command, write sends what the socket takes
 * (is_done: all of it), read takes what has come, pull gives the next whole reply (ERR_NOT_FOUND: not yet).
 * ERR_UNAVAILABLE: the connection can only be closed.
 */
enum err redis_conn_push(struct redis_conn *conn, const struct redis_arg *args, size_t count) MUST_CHECK;
enum err redis_conn_write(struct redis_conn *conn, bool *is_done) MUST_CHECK;
enum err redis_conn_read(struct redis_conn *conn) MUST_CHECK;
enum err redis_conn_pull(struct redis_conn *conn, struct redis_reply **reply) MUST_CHECK;
int redis_conn_descriptor(const struct redis_conn *conn);

/* Makes it unusable: it leads to a server that is no longer the right one. */
void redis_conn_spoil(struct redis_conn *conn);

/* False after a failure. */
bool redis_conn_usable(const struct redis_conn *conn);
/* Whether the failure was that nothing came in time. */
bool redis_conn_timed_out(const struct redis_conn *conn);
/* For a connection that has been idle: looks, without waiting, whether Redis has closed it meanwhile. */
bool redis_conn_is_alive(struct redis_conn *conn);
/* What the failure was, in hiredis' words. */
const char *redis_conn_message(const struct redis_conn *conn);

#endif
