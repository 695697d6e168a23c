/*
 * One thread at a time. A connection to Redis (hiredis, RESP2), by TLS or without; after a failure it can only be
 * closed. Writing to a connection that Redis has closed raises SIGPIPE, which the program must
 * ignore (shutdown_new does). Most code uses a redis_pool or a redis_pipeline.
 */
#ifndef WAYMARK_LIB_REDIS_REDIS_CONN_H
#define WAYMARK_LIB_REDIS_REDIS_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/redis/redis_reply.h"
#include "lib/redis/redis_url.h"

struct redis_conn;

/* An argument of a command. */
struct redis_arg {
	const char *bytes;
	size_t len;
};
#define REDIS_TEXT(t) ((struct redis_arg){ (t), strlen(t) })

/*
 * Connects, authenticates, selects the database and reads the server's run_id, all within
 * timeout_ms after name resolution. So a frozen server gives no connection. ca_file: redis_tls_new,
 * for a url with TLS. ERR_UNAVAILABLE: why (size bytes) names the reason.
 */
enum err redis_conn_open(const struct redis_url *url, const char *ca_file, int64_t timeout_ms,
                         struct redis_conn **out, char *why, size_t size) MUST_CHECK;
void redis_conn_close(struct redis_conn *conn);

/*
 * The first 64 bits of the server's run_id. Redis chooses a new one at each start, so it identifies
 * a run of a server. 0: unknown, because our user may not run INFO.
 */
uint64_t redis_conn_run_id(const struct redis_conn *conn);

/*
 * Runs a command and waits at most timeout_ms for the whole reply, which may be an error reply.
 * ERR_UNAVAILABLE: no reply in time; the command may or may not have run, and the connection can
 * only be closed.
 */
enum err redis_conn_call(struct redis_conn *conn, const struct redis_arg *args, size_t count,
                         int64_t timeout_ms, struct redis_reply **reply) MUST_CHECK;

/*
 * The steps of a call, for callers that must not wait (redis_pipeline). push queues a command.
 * write sends what the socket takes (is_done: everything). read reads what has arrived. pull
 * returns the next whole reply (ERR_NOT_FOUND: none yet). ERR_UNAVAILABLE: the connection can only
 * be closed.
 */
enum err redis_conn_push(struct redis_conn *conn, const struct redis_arg *args,
                         size_t count) MUST_CHECK;
enum err redis_conn_write(struct redis_conn *conn, bool *is_done) MUST_CHECK;
enum err redis_conn_read(struct redis_conn *conn) MUST_CHECK;
enum err redis_conn_pull(struct redis_conn *conn, struct redis_reply **reply) MUST_CHECK;
int redis_conn_descriptor(const struct redis_conn *conn);

/* Makes it unusable, because it leads to the wrong server. */
void redis_conn_invalidate(struct redis_conn *conn);

/* False after a failure. */
bool redis_conn_is_usable(const struct redis_conn *conn);
/* Whether the failure was a timeout. */
bool redis_conn_timed_out(const struct redis_conn *conn);
/* Whether an idle connection is still open. Does not wait. */
bool redis_conn_is_alive(struct redis_conn *conn);
/* hiredis' message for the failure. */
const char *redis_conn_message(const struct redis_conn *conn);

#endif
