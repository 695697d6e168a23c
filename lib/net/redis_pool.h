/*
 * Safe from any thread. Connections to Redis (hiredis, RESP2) for threads that come and go. Redis is a cache: every call
 * is bounded in time, and after a failure nobody tries again for 100 ms, so that a dead Redis costs its callers nothing.
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

struct redis_pool;
struct redis_reply; /* opaque; release with redis_reply_free */

struct redis_pool_config {
	const char *url; /* redis://[user:password@]host:port[/db] */
	size_t max;
	int64_t timeout_ms; /* connecting, sending, receiving: each */
	const struct clock *clock;
	const struct log *log;
	struct metrics *metrics;
};

/* ERR_INVALID: url is not of that form. The server may be away. */
enum err redis_pool_new(const struct redis_pool_config *config, struct redis_pool **out) MUST_CHECK;
void redis_pool_free(struct redis_pool *pool);

/* An argument of a command. */
struct redis_arg {
	const char *bytes;
	size_t len;
};
#define REDIS_TEXT(t) ((struct redis_arg){ (t), strlen(t) })

/*
 * Runs one command. ERR_UNAVAILABLE: Redis is away or too slow; the command may or may not have run. ERR_LIMIT: no
 * connection was free. ERR_INTERNAL: an error reply (logged). reply may be NULL.
 */
enum err redis_pool_call(struct redis_pool *pool, const struct redis_arg *args, size_t count,
                         struct redis_reply **reply) MUST_CHECK;

/*
 * Runs a Lua script by its hash, loading it where it is not known. args: the keys, then the values.
 */
enum err redis_pool_script(struct redis_pool *pool, const char *script, size_t key_count, const struct redis_arg *args,
                           size_t count, struct redis_reply **reply) MUST_CHECK;

bool redis_reply_is_nil(const struct redis_reply *reply);
/* Bytes of a string or status reply; NULL for other types. */
const char *redis_reply_bytes(const struct redis_reply *reply, size_t *len);
/* 0 for other types. */
int64_t redis_reply_int(const struct redis_reply *reply);
size_t redis_reply_count(const struct redis_reply *reply);
const struct redis_reply *redis_reply_at(const struct redis_reply *reply, size_t index);
void redis_reply_free(struct redis_reply *reply);

/* As pg_pool_is_reachable. */
bool redis_pool_is_reachable(void *pool);

#endif
