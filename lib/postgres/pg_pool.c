#include "lib/postgres/pg_pool.h"

#include <stdatomic.h>

#include "lib/base/conn_pool.h"
#include "lib/base/mem.h"

#define CHECK_MS 1000
#define CHECK_FAILING_MS 250

enum schema { SCHEMA_UNKNOWN, SCHEMA_TOO_OLD, SCHEMA_SUPPORTED };

struct pg_pool {
	struct pg_pool_config config;
	_Atomic enum schema schema;
	struct conn_pool *conns;
};

enum err pg_pool_schema_version(struct pg_conn *conn, int64_t *out)
{
	struct pg_result *rows = NULL;
	int64_t version = 0;
	enum err err = pg_conn_query(
		conn,
		"SELECT coalesce(has_table_privilege(to_regclass('schema_migrations'), 'SELECT'), false)",
		NULL, &rows);
	if (err == OK && pg_result_bool(rows, 0, 0))
		err = pg_conn_query_int(conn,
		                        "SELECT coalesce(max(version), 0) FROM schema_migrations",
		                        NULL, &version);
	pg_result_free(rows);
	if (err == OK)
		*out = version;
	return err;
}

static enum err check_schema(struct pg_pool *pool, struct pg_conn *conn)
{
	int64_t wanted = pool->config.schema_version, found = 0;
	if (wanted == 0 || pool->schema == SCHEMA_SUPPORTED)
		return OK;
	if (pg_pool_schema_version(conn, &found) != OK)
		return ERR_UNAVAILABLE;
	if (found >= wanted) {
		pool->schema = SCHEMA_SUPPORTED;
		return OK;
	}
	/* Compare-and-swap, because another thread may have just seen the finished migrations. */
	enum schema unknown = SCHEMA_UNKNOWN;
	(void)atomic_compare_exchange_strong(&pool->schema, &unknown, SCHEMA_TOO_OLD);
	log_limited_warning(pool->config.log, "postgres_schema_too_old", LOG_INT("version", found),
	                    LOG_INT("needed", wanted));
	return ERR_UNAVAILABLE;
}

static enum err open_conn(void *ctx, bool for_health_check, void **out)
{
	struct pg_pool *pool = ctx;
	const struct pg_pool_config *c = &pool->config;
	struct pg_conn *conn = NULL;
	enum err err = (c->is_pooled ? pg_conn_open_pooled : pg_conn_open)(
		c->url, c->application_name, c->connect_timeout_ms,
		for_health_check ? c->connect_timeout_ms : c->statement_timeout_ms, c->log, &conn);
	if (err != OK)
		return err;
	err = check_schema(pool, conn);
	if (err != OK) {
		pg_conn_close(conn);
		return err;
	}
	*out = conn;
	return OK;
}

static void close_conn(void *conn)
{
	pg_conn_close(conn);
}

static bool is_alive(void *conn)
{
	return pg_conn_is_alive(conn);
}

static enum err probe(void *ctx, void *conn)
{
	(void)ctx;
	return pg_conn_query(conn, "SELECT 1", NULL, NULL);
}

static bool is_usable(const void *conn)
{
	return pg_conn_is_usable(conn);
}

static bool timed_out(const void *conn)
{
	return pg_conn_timed_out(conn);
}

static const struct conn_pool_kind kind = {
	.open = open_conn,
	.close = close_conn,
	.is_alive = is_alive,
	.probe = probe,
	.is_usable = is_usable,
	.timed_out = timed_out,
	.thread_name = "postgres-health",
	.event_reachable = "postgres_reachable_again",
	.event_unreachable = "postgres_cannot_connect",
	.busy_metric = "waymark_postgres_connections_busy",
	.max_metric = "waymark_postgres_connections_max",
	.reachable_metric = "waymark_postgres_reachable",
	.failures_metric = "waymark_postgres_connect_failures_total",
	.waits_metric = "waymark_postgres_wait_timeouts_total",
};

struct pg_pool *pg_pool_new(const struct pg_pool_config *config)
{
	struct pg_pool *pool = mem_zero(sizeof(*pool));
	pool->config = *config;
	pool->conns = conn_pool_new(&(struct conn_pool_config){
		.kind = &kind,
		.ctx = pool,
		.max = config->max,
		.waiters_max = config->waiters_max,
		.wait_ms = config->wait_ms,
		.connect_timeout_ms = config->connect_timeout_ms,
		.check_ms = CHECK_MS,
		.check_failing_ms = CHECK_FAILING_MS,
		.clock = config->clock,
		.log = config->log,
		.metrics = config->metrics,
	});
	return pool;
}

void pg_pool_free(struct pg_pool *pool)
{
	if (!pool)
		return;
	conn_pool_free(pool->conns);
	free(pool);
}

enum err pg_pool_acquire(struct pg_pool *pool, struct pg_conn **out)
{
	void *conn = NULL;
	enum err err = conn_pool_acquire(pool->conns, &conn);
	if (err == OK)
		*out = conn;
	return err;
}

void pg_pool_release(struct pg_pool *pool, struct pg_conn *conn)
{
	if (!conn)
		return;
	pg_conn_rollback(conn);
	pg_conn_frozen_terminate(conn);
	conn_pool_release(pool->conns, conn);
}

bool pg_pool_is_down(struct pg_pool *pool, int64_t wait_ms)
{
	return conn_pool_is_down(pool->conns, wait_ms);
}

bool pg_pool_is_reachable(void *ctx)
{
	const struct pg_pool *pool = ctx;
	return conn_pool_is_reachable(pool->conns);
}

bool pg_pool_is_schema_supported(void *ctx)
{
	const struct pg_pool *pool = ctx;
	return pool->schema != SCHEMA_TOO_OLD;
}

/* --- transactions --- */

enum err pg_pool_transact_on(struct pg_conn *conn, pg_pool_work work, void *ctx)
{
	enum err err = pg_conn_begin(conn);
	if (err != OK)
		return err;
	err = work(ctx, conn);
	if (err == OK)
		err = pg_conn_commit(conn);
	if (err != OK)
		pg_conn_rollback(conn);
	return err;
}

enum err pg_pool_transact(struct pg_pool *pool, pg_pool_work work, void *ctx)
{
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(pool, &conn);
	if (err != OK)
		return err == ERR_LIMIT ? ERR_UNAVAILABLE : err;
	err = pg_pool_transact_on(conn, work, ctx);
	pg_pool_release(pool, conn);
	return err;
}
