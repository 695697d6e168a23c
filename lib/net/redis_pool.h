/*
 * Safe from any thread. Connections to Redis (hiredis, RESP2) for threads that come and go. Redis is a cache: every
 * call is bounded in time. After a failure to connect or a timeout only a background thread tries again, every 100 ms,
 * and callers fail at once, so that a dead Redis costs them nothing and a frozen one timeout_ms, once. The program
 * ignores SIGPIPE (shutdown_new does).
 */
#ifndef WAYMARK_LIB_NET_REDIS_POOL_H
#define WAYMARK_LIB_NET_REDIS_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/net/redis_conn.h"
#include "lib/net/redis_reply.h"

#define REDIS_POOL_SCRIPTS_MAX 16

struct redis_pool;

struct redis_pool_config {
	const char *url; /* see redis_url.h */
	size_t max;
	int64_t timeout_ms; /* for a free connection, for connecting, for a call: each */
	const struct clock *clock;
	const struct log *log;
	struct metrics *metrics; /* may be NULL */
};

/* ERR_INVALID: url is not of that form. The server may be away. */
enum err redis_pool_new(const struct redis_pool_config *config, struct redis_pool **out) MUST_CHECK;
void redis_pool_free(struct redis_pool *pool);

/*
 * Runs one command. ERR_UNAVAILABLE: Redis is away, too slow, loading, out of memory or a replica; the command may or
 * may not have run. ERR_LIMIT: no connection was free. ERR_INTERNAL: any other error reply (logged, at most once a
 * second). reply may be NULL.
 */
enum err redis_pool_call(struct redis_pool *pool, const struct redis_arg *args, size_t count,
                         struct redis_reply **reply) MUST_CHECK;

/* As redis_pool_call; *server: who gave the reply (redis_conn_server). */
enum err redis_pool_call_at(struct redis_pool *pool, const struct redis_arg *args, size_t count,
                            struct redis_reply **reply, uint64_t *server) MUST_CHECK;

/*
 * Runs a Lua script by its hash, loading it where it is not known; as redis_pool_call. script must be a literal (or
 * live as long as the pool); a pool knows REDIS_POOL_SCRIPTS_MAX of them, more are ERR_LIMIT. args: the keys, then the
 * values.
 */
enum err redis_pool_script(struct redis_pool *pool, const char *script, size_t key_count, const struct redis_arg *args,
                           size_t count, struct redis_reply **reply) MUST_CHECK;

enum err redis_pool_script_at(struct redis_pool *pool, const char *script, size_t key_count,
                              const struct redis_arg *args, size_t count, struct redis_reply **reply,
                              uint64_t *server) MUST_CHECK;

/*
 * The server that the newest connection leads to (redis_conn_server); 0 before the first. Connections to another one
 * are closed after their next use: after a failover the old server may answer for as long as it is asked.
 */
uint64_t redis_pool_server(const struct redis_pool *pool);
/* Has each connection closed after its next use: perhaps another server has taken the place of the one they lead to. */
void redis_pool_renew(struct redis_pool *pool);

/* As pg_pool_is_reachable. */
bool redis_pool_is_reachable(void *pool);

#endif
