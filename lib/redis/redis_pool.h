/*
 * Safe from any thread. A pool of connections to Redis (hiredis, RESP2), which is a cache: every
 * call is bounded in time. After a failed attempt to connect or a timeout, only the health check
 * tries again, every 100 ms, and callers fail at once. So a dead Redis costs callers nothing, and a
 * frozen one costs timeout_ms once. The program must ignore SIGPIPE (shutdown_new does).
 */
#ifndef WAYMARK_LIB_REDIS_REDIS_POOL_H
#define WAYMARK_LIB_REDIS_REDIS_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/redis/redis_conn.h"
#include "lib/redis/redis_reply.h"

struct redis_pool;

struct redis_pool_config {
	/* See redis_url.h. */
	const char *url;
	/* Borrowed; may be NULL (redis_tls_new). */
	const char *ca_file;
	size_t max;
	/* Each: to get a connection, to connect, to run a call. */
	int64_t timeout_ms;
	const struct clock *clock;
	const struct log *log;
	/* May be NULL. */
	struct metrics *metrics;
};

/* Succeeds without a reachable server. ERR_INVALID: url is malformed. */
enum err redis_pool_new(const struct redis_pool_config *config, struct redis_pool **out) MUST_CHECK;
void redis_pool_free(struct redis_pool *pool);

/*
 * Runs one command. reply may be NULL; the caller frees it. run_id may be NULL; it is set to the
 * server that replied (redis_conn_run_id). ERR_UNAVAILABLE: Redis is down, too slow, loading, out
 * of memory or a replica; the command may or may not have run. ERR_LIMIT: no connection was free.
 * ERR_INTERNAL: any other error reply (logged).
 */
enum err redis_pool_call(struct redis_pool *pool, const struct redis_arg *args, size_t count,
                         struct redis_reply **reply, uint64_t *run_id) MUST_CHECK;

/* As redis_pool_call, with a timeout of its own for the reply: for work that no visitor awaits. */
enum err redis_pool_call_within(struct redis_pool *pool, int64_t timeout_ms,
                                const struct redis_arg *args, size_t count,
                                struct redis_reply **reply, uint64_t *run_id) MUST_CHECK;

/* Runs a Lua script. args: the keys, then the values. The rest as for redis_pool_call. */
enum err redis_pool_script(struct redis_pool *pool, const char *script, size_t key_count,
                           const struct redis_arg *args, size_t count, struct redis_reply **reply,
                           uint64_t *run_id) MUST_CHECK;

/*
 * The run_id of the server that the newest connection leads to (redis_conn_run_id); 0 before the
 * first connection. Connections to another server close after their next use, because after a
 * failover the old server may still respond.
 */
uint64_t redis_pool_run_id(const struct redis_pool *pool);
/* Closes each connection after its next use. Use it when another server may have taken over. */
void redis_pool_reconnect(struct redis_pool *pool);

/* As pg_pool_is_reachable. */
bool redis_pool_is_reachable(void *pool);

#endif
