/*
 * One thread, the prober, watches the server over a connection of its own. When an attempt to connect fails, the prober's
 * or a taker's, takers do not try again: those for whom no connection is idle fail at once, until the prober gets
 * through. A server that hangs instead of refusing (frozen, or the network swallows packets) would make everybody who
 * is given an idle connection wait for a timeout; so the first timeout drops them all.
 */
#include "lib/net/pg_pool.h"

#include <pthread.h>

#include "lib/base/mem.h"

#define PROBE_MS 1000
#define PROBE_FAILING_MS 250

struct pg_pool {
	struct pg_pool_config config;
	pthread_mutex_t mutex;
	pthread_cond_t freed;      /* a connection or a place for one, or the server's state has changed */
	pthread_cond_t probe_soon; /* the prober has a reason not to wait */
	pthread_t prober;
	struct pg_conn **idle;
	size_t idle_count;
	size_t open_count; /* idle, given out and being opened */
	bool reachable;    /* the last attempt to reach the server succeeded */
	bool failing;      /* … failed; neither, before the first */
	bool suspicious;   /* somebody saw a connection break: look now */
	bool closing;
	struct metric *busy;
	struct metric *connect_failures;
	struct metric *wait_timeouts;
};

static struct timespec pg_pool_in_ms(int64_t ms)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += (long)(ms % 1000) * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

/* With the mutex held; closing does not wait for the server. */
static void pg_pool_drop_idle(struct pg_pool *pool)
{
	pool->open_count -= pool->idle_count;
	while (pool->idle_count > 0)
		pg_conn_close(pool->idle[--pool->idle_count]);
}

/* With the mutex held. Logs the change only: an outage is one line, not one per attempt. */
static void pg_pool_set_reachable(struct pg_pool *pool, bool reachable)
{
	if (reachable && pool->failing)
		log_info(pool->config.log, "postgres_reachable_again");
	if (!reachable)
		metrics_add(pool->connect_failures, 1);
	pool->reachable = reachable;
	pool->failing = !reachable;
	pthread_cond_broadcast(&pool->freed);
}

static enum err pg_pool_connect(struct pg_pool *pool, int64_t statement_timeout_ms, bool failing, struct pg_conn **out)
{
	const struct pg_pool_config *c = &pool->config;
	enum err err = pg_conn_open(c->url, c->application_name, c->connect_timeout_ms, statement_timeout_ms,
	                            failing ? NULL : c->log, out);
	if (err == OK)
		pg_conn_set_log(*out, c->log);
	return err;
}

/* *hung: the server did not refuse, it did not answer. */
static enum err pg_pool_probe(struct pg_pool *pool, bool failing, struct pg_conn **watch, bool *hung)
{
	const struct pg_pool_config *c = &pool->config;
	if (*watch && !pg_conn_is_alive(*watch)) {
		pg_conn_close(*watch);
		*watch = NULL;
	}
	if (!*watch) {
		int64_t begun_us = clock_steady_us(c->clock);
		enum err err = pg_pool_connect(pool, c->connect_timeout_ms, failing, watch);
		*hung = err != OK && clock_steady_us(c->clock) - begun_us >= c->connect_timeout_ms * CLOCK_US_PER_MS;
		return err;
	}
	enum err err = pg_conn_query(*watch, "SELECT 1", NULL, NULL);
	if (err != OK) {
		*hung = pg_conn_timed_out(*watch);
		pg_conn_close(*watch);
		*watch = NULL;
	}
	return err;
}

/* Until the next probe is due. With the mutex held. */
static void pg_pool_rest(struct pg_pool *pool)
{
	bool failing = pool->failing;
	struct timespec until = pg_pool_in_ms(failing ? PROBE_FAILING_MS : PROBE_MS);
	int rc = 0;
	while (!pool->closing && !pool->suspicious && rc == 0) {
		rc = pthread_cond_timedwait(&pool->probe_soon, &pool->mutex, &until);
		if (pool->failing && !failing) {
			failing = true;
			until = pg_pool_in_ms(PROBE_FAILING_MS);
		}
	}
}

static void *pg_pool_watch(void *arg)
{
	struct pg_pool *pool = arg;
	struct pg_conn *watch = NULL;
	pthread_mutex_lock(&pool->mutex);
	while (!pool->closing) {
		pool->suspicious = false;
		bool failing = pool->failing;
		bool hung = false;
		pthread_mutex_unlock(&pool->mutex);
		enum err err = pg_pool_probe(pool, failing, &watch, &hung);
		pthread_mutex_lock(&pool->mutex);
		pg_pool_set_reachable(pool, err == OK);
		if (hung)
			pg_pool_drop_idle(pool);
		pg_pool_rest(pool);
	}
	pthread_mutex_unlock(&pool->mutex);
	pg_conn_close(watch);
	return NULL;
}

static void pg_pool_register(struct pg_pool *pool, struct metrics *m)
{
	if (!m)
		return;
	pool->busy = metrics_gauge(m, "waymark_postgres_connections_busy", "Connections to PostgreSQL in use", NULL);
	pool->connect_failures = metrics_counter(m, "waymark_postgres_connect_failures_total",
	                                         "Attempts to reach PostgreSQL that failed", NULL);
	pool->wait_timeouts = metrics_counter(m, "waymark_postgres_wait_timeouts_total",
	                                      "Callers for whom no connection became free in time", NULL);
}

struct pg_pool *pg_pool_new(const struct pg_pool_config *config)
{
	struct pg_pool *pool = mem_zero(sizeof(*pool));
	pool->config = *config;
	pool->idle = mem_array(config->max, sizeof(struct pg_conn *));
	pg_pool_register(pool, config->metrics);
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&pool->freed, &monotonic);
	pthread_cond_init(&pool->probe_soon, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_mutex_init(&pool->mutex, NULL);
	if (pthread_create(&pool->prober, NULL, pg_pool_watch, pool) != 0)
		abort();
	pthread_setname_np(pool->prober, "postgres-watch");
	return pool;
}

void pg_pool_free(struct pg_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->mutex);
	pool->closing = true;
	pthread_cond_signal(&pool->probe_soon);
	pthread_mutex_unlock(&pool->mutex);
	pthread_join(pool->prober, NULL);
	for (size_t i = 0; i < pool->idle_count; i++)
		pg_conn_close(pool->idle[i]);
	pthread_cond_destroy(&pool->freed);
	pthread_cond_destroy(&pool->probe_soon);
	pthread_mutex_destroy(&pool->mutex);
	free(pool->idle);
	free(pool);
}

/* With the mutex held. OK with *conn: an idle connection. OK with NULL: the caller may open one, its place is taken. */
static enum err pg_pool_wait(struct pg_pool *pool, const struct timespec *until, struct pg_conn **conn)
{
	int rc = 0;
	for (;;) {
		if (pool->idle_count > 0) {
			*conn = pool->idle[--pool->idle_count];
			return OK;
		}
		if (pool->failing)
			return ERR_UNAVAILABLE;
		if (pool->open_count < pool->config.max) {
			pool->open_count++;
			*conn = NULL;
			return OK;
		}
		if (rc != 0)
			return ERR_LIMIT;
		rc = pthread_cond_timedwait(&pool->freed, &pool->mutex, until);
	}
}

/* Gives up the place of a connection that broke. */
static void pg_pool_discard(struct pg_pool *pool, struct pg_conn *conn)
{
	bool hung = pg_conn_timed_out(conn);
	pg_conn_close(conn);
	pthread_mutex_lock(&pool->mutex);
	pool->open_count--;
	pool->suspicious = true;
	if (hung) {
		pg_pool_set_reachable(pool, false);
		pg_pool_drop_idle(pool);
	}
	pthread_cond_signal(&pool->probe_soon);
	pthread_cond_signal(&pool->freed);
	pthread_mutex_unlock(&pool->mutex);
}

/* Opens a connection in a place that has been taken. */
static enum err pg_pool_open(struct pg_pool *pool, struct pg_conn **out)
{
	enum err err = pg_pool_connect(pool, pool->config.statement_timeout_ms, false, out);
	pthread_mutex_lock(&pool->mutex);
	if (err != OK) {
		pool->open_count--;
		pthread_cond_signal(&pool->probe_soon);
	}
	pg_pool_set_reachable(pool, err == OK);
	pthread_mutex_unlock(&pool->mutex);
	return err;
}

static enum err pg_pool_take_usable(struct pg_pool *pool, struct pg_conn **out)
{
	struct timespec until = pg_pool_in_ms(pool->config.wait_ms);
	for (;;) {
		struct pg_conn *conn = NULL;
		pthread_mutex_lock(&pool->mutex);
		enum err err = pg_pool_wait(pool, &until, &conn);
		pthread_mutex_unlock(&pool->mutex);
		if (err != OK)
			return err;
		if (!conn)
			return pg_pool_open(pool, out);
		if (pg_conn_is_alive(conn)) {
			*out = conn;
			return OK;
		}
		pg_pool_discard(pool, conn);
	}
}

enum err pg_pool_take(struct pg_pool *pool, struct pg_conn **out)
{
	enum err err = pg_pool_take_usable(pool, out);
	if (err == OK)
		metrics_add(pool->busy, 1);
	if (err == ERR_LIMIT)
		metrics_add(pool->wait_timeouts, 1);
	return err;
}

void pg_pool_give(struct pg_pool *pool, struct pg_conn *conn)
{
	if (!conn)
		return;
	metrics_add(pool->busy, -1);
	pg_conn_rollback(conn);
	if (!pg_conn_usable(conn)) {
		pg_pool_discard(pool, conn);
		return;
	}
	pthread_mutex_lock(&pool->mutex);
	pool->idle[pool->idle_count++] = conn;
	pthread_cond_signal(&pool->freed);
	pthread_mutex_unlock(&pool->mutex);
}

bool pg_pool_is_reachable(void *ctx)
{
	struct pg_pool *pool = ctx;
	pthread_mutex_lock(&pool->mutex);
	bool reachable = pool->reachable;
	pthread_mutex_unlock(&pool->mutex);
	return reachable;
}
