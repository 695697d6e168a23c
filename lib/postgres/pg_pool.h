/*
 * Safe from any thread. A pool of connections to PostgreSQL (see conn_pool.h): at most max for
 * callers, and one more for the health check. The server need not be reachable when the pool is
 * created.
 *
 *   struct pg_conn *conn = NULL;
 *   enum err err = pg_pool_acquire(pool, &conn);
 *   if (err == OK)
 *           err = pg_conn_query(conn, "DELETE FROM links WHERE id = $1", &params, NULL);
 *   pg_pool_release(pool, conn);
 */
#ifndef WAYMARK_LIB_POSTGRES_PG_POOL_H
#define WAYMARK_LIB_POSTGRES_PG_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/metrics.h"
#include "lib/postgres/pg_conn.h"

struct pg_pool;

struct pg_pool_config {
	const char *url;
	const char *application_name;
	size_t max;
	/* See conn_pool.h. */
	size_t waiters_max;
	/* How long a caller waits for a free connection. */
	int64_t wait_ms;
	int64_t connect_timeout_ms;
	int64_t statement_timeout_ms;
	/* Url names a pooler in transaction mode: pg_conn_open_pooled. */
	bool is_pooled;
	/*
	 * The oldest migration that the service supports (a version in schema_migrations); 0: any.
	 * While the database is older, the server counts as unreachable. Schemas only grow, so new
	 * connections check it until one check has succeeded.
	 */
	int64_t schema_version;
	const struct clock *clock;
	const struct log *log;
	/* May be NULL. */
	struct metrics *metrics;
};

struct pg_pool *pg_pool_new(const struct pg_pool_config *config);
/* All connections must have been released. NULL is allowed. */
void pg_pool_free(struct pg_pool *pool);

/*
 * ERR_LIMIT: no connection became free within wait_ms, or too many callers wait. ERR_UNAVAILABLE:
 * the server is down. After a failure only the health check tries again, every 250 ms, so a dead
 * server costs callers nothing. A frozen server costs the callers that use it one statement
 * timeout.
 */
enum err pg_pool_acquire(struct pg_pool *pool, struct pg_conn **out) MUST_CHECK;
/*
 * Rolls back an open transaction; closes a broken connection. After a statement that ended with
 * ERR_LIMIT, ends frozen connections that may have caused it (pg_conn_frozen_terminate). NULL is
 * allowed.
 */
void pg_pool_release(struct pg_pool *pool, struct pg_conn *conn);

/* Whether the server is down, not just slow; see conn_pool_is_down. */
bool pg_pool_is_down(struct pg_pool *pool, int64_t wait_ms);

/*
 * Whether the last attempt to reach the server succeeded. The health check runs once a second, so
 * the result is about a second old at most. For /readyz: pool is a struct pg_pool.
 */
bool pg_pool_is_reachable(void *pool);

/*
 * The highest version in schema_migrations, which tools/migrate writes. 0: the table does not
 * exist, or our role may not read it.
 */
enum err pg_pool_schema_version(struct pg_conn *conn, int64_t *out) MUST_CHECK;

/* False while the schema is known to be too old. For /readyz: pool is a struct pg_pool. */
bool pg_pool_is_schema_supported(void *pool);

/* --- transactions --- */

/*
 * The work of a transaction, which is committed if it returns OK, and rolled back if it does not. It
 * must not commit or roll back itself.
 */
typedef enum err (*pg_pool_work)(void *ctx, struct pg_conn *conn);

/* Errors: those of work, pg_conn_begin and pg_conn_commit. In no transaction afterwards. */
enum err pg_pool_transact_on(struct pg_conn *conn, pg_pool_work work, void *ctx) MUST_CHECK;

/*
 * The same on a connection of the pool. ERR_UNAVAILABLE also: no connection was available, even if
 * pg_pool_acquire returned ERR_LIMIT. So ERR_LIMIT always comes from the work.
 */
enum err pg_pool_transact(struct pg_pool *pool, pg_pool_work work, void *ctx) MUST_CHECK;

#endif
