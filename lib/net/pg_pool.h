/*
 * Safe from any thread. Connections to PostgreSQL for threads that come and go: at most max at a time (and one more,
 * over which a background thread watches the server), opened when needed, waiters bounded in time, broken ones
 * replaced. The server may be away when the pool is made.
 */
#ifndef WAYMARK_LIB_NET_PG_POOL_H
#define WAYMARK_LIB_NET_PG_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/metrics.h"
#include "lib/net/pg_conn.h"

struct pg_pool;

struct pg_pool_config {
	const char *url;
	const char *application_name;
	size_t max;
	size_t min; /* these three as in conn_pool.h */
	int64_t idle_ms;
	size_t waiters_max;
	int64_t wait_ms; /* for a free connection */
	int64_t connect_timeout_ms;
	int64_t statement_timeout_ms;
	bool is_pooled; /* url leads to a pooler in transaction mode: pg_conn_open_pooled */
	/*
	 * The first migration that will do (pg_schema.h): as long as the database has not come to it, the server counts as
	 * one that cannot be reached. Asked per connection until it was seen once, since schemas only grow. 0 = any.
	 */
	int64_t schema_version;
	const struct clock *clock;
	const struct log *log;
	struct metrics *metrics; /* may be NULL */
};

struct pg_pool *pg_pool_new(const struct pg_pool_config *config);
/* All connections must have been given back. NULL may be freed. */
void pg_pool_free(struct pg_pool *pool);

/*
 * ERR_LIMIT: none became free within wait_ms, or too many wait for one. ERR_UNAVAILABLE: the server cannot be reached; after a failure only the
 * background thread tries again, every 250 ms, so that a dead server costs its callers nothing. A frozen one costs
 * those who are talking to it their statement's timeout, once.
 */
enum err pg_pool_take(struct pg_pool *pool, struct pg_conn **out) MUST_CHECK;
/* Rolls back what is open; closes what is broken. NULL is allowed. */
void pg_pool_give(struct pg_pool *pool, struct pg_conn *conn);

/* As conn_pool_is_away: whether the server is known to be away, not just slow. */
bool pg_pool_is_away(struct pg_pool *pool, int64_t wait_ms);

/* Whether the last attempt to reach the server succeeded. A background thread asks once a second, so it is at most
 * about a second old. For /readyz; ctx is the pool. */
bool pg_pool_is_reachable(void *pool);

/* False as long as all that the server has said of its schema is that it is too old. For /readyz; ctx is the pool. */
bool pg_pool_schema_will_do(void *pool);

#endif
