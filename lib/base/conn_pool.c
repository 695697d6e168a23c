#include "lib/base/conn_pool.h"

#include <pthread.h>

#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/base/thread.h"

struct conn_pool {
	struct conn_pool_config config;
	pthread_mutex_t mutex;
	/* A connection became free, or the server is down. */
	pthread_cond_t changed;
	/* Callers that wait for it. */
	size_t waiters;
	/* The health check should not wait. */
	pthread_cond_t check_soon;
	pthread_t health_check;
	/* A stack. */
	void **idle;
	size_t idle_count;
	/* Idle, in use and being opened. */
	size_t open_count;
	/* The last attempt to reach the server succeeded. */
	bool reachable;
	/* The last attempt failed; both are false before the first. */
	bool failing;
	/* A connection broke: probe at once. */
	bool check_now;
	/* Connections that broke so far. */
	uint64_t breaks;
	/* Breaks before the last probe started. */
	uint64_t checked_breaks;
	/* The last probe failed. */
	bool is_down;
	pthread_cond_t probed;
	bool closing;
	struct metric *busy;
	struct metric *reachable_gauge;
	struct metric *connect_failures;
	struct metric *wait_timeouts;
};

/* With the mutex held, because closing does not wait for the server. */
static void close_idle(struct conn_pool *pool)
{
	pool->open_count -= pool->idle_count;
	while (pool->idle_count > 0)
		pool->config.kind->close(pool->idle[--pool->idle_count]);
}

/* With the mutex held. */
static void keep_idle(struct conn_pool *pool, void *conn)
{
	pool->idle[pool->idle_count++] = conn;
	pthread_cond_signal(&pool->changed);
}

/* With the mutex held. Logs only changes. */
static void set_reachable(struct conn_pool *pool, bool reachable)
{
	if (reachable && pool->failing) {
		log_info(pool->config.log, pool->config.kind->event_reachable);
		log_limited_forget(pool->config.log, pool->config.kind->event_unreachable);
	}
	if (!reachable)
		metrics_add(pool->connect_failures, 1);
	pool->reachable = reachable;
	pool->failing = !reachable;
	metrics_set(pool->reachable_gauge, reachable);
	pthread_cond_broadcast(&pool->changed);
}

/* Probes, and closes the connection after a failure. *timed_out: no response in time. */
static enum err run_probe(struct conn_pool *pool, void **conn, bool *timed_out)
{
	const struct conn_pool_kind *kind = pool->config.kind;
	enum err err = kind->probe(pool->config.ctx, *conn);
	if (err != OK) {
		*timed_out = kind->timed_out(*conn);
		kind->close(*conn);
		*conn = NULL;
	}
	return err;
}

static enum err reconnect(struct conn_pool *pool, void **conn, bool *timed_out)
{
	const struct conn_pool_config *c = &pool->config;
	int64_t begun_us = clock_steady_us(c->clock);
	if (*conn)
		c->kind->close(*conn);
	*conn = NULL;
	enum err err = c->kind->open(c->ctx, true, conn);
	*timed_out = err != OK && clock_steady_us(c->clock) - begun_us >=
	                                  c->connect_timeout_ms * CLOCK_US_PER_MS;
	/* The kernel of a frozen server still accepts connections, so only a response counts. */
	return err == OK ? run_probe(pool, conn, timed_out) : err;
}

/*
 * failing: the last attempt failed. Then the probe opens a new connection: an old one that still
 * works does not prove that callers can connect. It also does so after the old connection broke.
 */
static enum err probe(struct conn_pool *pool, bool failing, void **conn, bool *timed_out)
{
	*timed_out = false;
	if (*conn && !failing && pool->config.kind->is_alive(*conn)) {
		enum err err = run_probe(pool, conn, timed_out);
		if (err == OK || *timed_out)
			return err;
	}
	return reconnect(pool, conn, timed_out);
}

/* With the mutex held. Waits until the next probe is due. */
static void wait_for_next_check(struct conn_pool *pool)
{
	bool failing = pool->failing;
	struct timespec until = thread_deadline_in_ms(failing ? pool->config.check_failing_ms
	                                                      : pool->config.check_ms);
	int rc = 0;
	while (!pool->closing && !pool->check_now && rc == 0) {
		rc = pthread_cond_timedwait(&pool->check_soon, &pool->mutex, &until);
		if (pool->failing && !failing) {
			failing = true;
			until = thread_deadline_in_ms(pool->config.check_failing_ms);
		}
	}
}

static void *run_health_check(void *arg)
{
	struct conn_pool *pool = arg;
	void *conn = NULL;
	pthread_mutex_lock(&pool->mutex);
	while (!pool->closing) {
		pool->check_now = false;
		uint64_t breaks = pool->breaks;
		bool failing = pool->failing;
		bool timed_out = false;
		pthread_mutex_unlock(&pool->mutex);
		enum err err = probe(pool, failing, &conn, &timed_out);
		pthread_mutex_lock(&pool->mutex);
		/* It began before the failure of a caller, and proves nothing. */
		if (err == OK && pool->failing && !failing)
			continue;
		set_reachable(pool, err == OK);
		pool->is_down = err != OK;
		pool->checked_breaks = breaks;
		pthread_cond_broadcast(&pool->probed);
		if (timed_out)
			close_idle(pool);
		wait_for_next_check(pool);
	}
	pthread_mutex_unlock(&pool->mutex);
	if (conn)
		pool->config.kind->close(conn);
	return NULL;
}

static void register_metrics(struct conn_pool *pool, struct metrics *m)
{
	if (!m)
		return;
	const struct conn_pool_kind *kind = pool->config.kind;
	pool->busy = metrics_gauge(m, kind->busy_metric, "Connections in use", NULL);
	metrics_add(metrics_gauge(m, kind->max_metric,
	                          "Largest number of connections in use at a time", NULL),
	            (int64_t)pool->config.max);
	pool->reachable_gauge =
		metrics_gauge(m, kind->reachable_metric,
	                      "1 if the last attempt to reach the server succeeded", NULL);
	pool->connect_failures = metrics_counter(m, kind->failures_metric,
	                                         "Failed attempts to reach the server", NULL);
	pool->wait_timeouts = metrics_counter(m, kind->waits_metric,
	                                      "Callers that got no connection in time", NULL);
}

struct conn_pool *conn_pool_new(const struct conn_pool_config *config)
{
	struct conn_pool *pool = mem_zero(sizeof(*pool));
	pool->config = *config;
	pool->idle = mem_array(config->max, sizeof(void *));
	register_metrics(pool, config->metrics);
	thread_cond_init(&pool->changed);
	thread_cond_init(&pool->check_soon);
	thread_cond_init(&pool->probed);
	pthread_mutex_init(&pool->mutex, NULL);
	thread_spawn(&pool->health_check, config->kind->thread_name, run_health_check, pool);
	return pool;
}

void conn_pool_free(struct conn_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->mutex);
	pool->closing = true;
	pthread_cond_signal(&pool->check_soon);
	pthread_mutex_unlock(&pool->mutex);
	pthread_join(pool->health_check, NULL);
	close_idle(pool);
	pthread_cond_destroy(&pool->changed);
	pthread_cond_destroy(&pool->check_soon);
	pthread_cond_destroy(&pool->probed);
	pthread_mutex_destroy(&pool->mutex);
	free(pool->idle);
	free(pool);
}

/*
 * With the mutex held. OK with *conn: an idle connection. OK with NULL: the caller must open one;
 * open_count includes it. ERR_LIMIT: max connections are in use. ERR_UNAVAILABLE: the server is
 * down.
 */
static enum err try_acquire(struct conn_pool *pool, void **conn)
{
	*conn = NULL;
	if (pool->idle_count > 0) {
		*conn = pool->idle[--pool->idle_count];
		return OK;
	}
	if (pool->failing)
		return ERR_UNAVAILABLE;
	if (pool->open_count == pool->config.max)
		return ERR_LIMIT;
	pool->open_count++;
	return OK;
}

/* With the mutex held. As try_acquire, but waits; ERR_LIMIT after until, or if too many wait. */
static enum err wait_for_connection(struct conn_pool *pool, const struct timespec *until,
                                    void **conn)
{
	enum err err = try_acquire(pool, conn);
	size_t waiters_max = pool->config.waiters_max;
	if (err != ERR_LIMIT || (waiters_max > 0 && pool->waiters >= waiters_max))
		return err;
	pool->waiters++;
	for (int rc = 0; err == ERR_LIMIT && rc == 0;) {
		rc = pthread_cond_timedwait(&pool->changed, &pool->mutex, until);
		err = try_acquire(pool, conn);
	}
	pool->waiters--;
	return err;
}

/* Closes a connection that broke, and requests a probe. */
static void discard(struct conn_pool *pool, void *conn)
{
	bool timed_out = pool->config.kind->timed_out(conn);
	pool->config.kind->close(conn);
	pthread_mutex_lock(&pool->mutex);
	pool->open_count--;
	pool->check_now = true;
	pool->breaks++;
	if (timed_out) {
		set_reachable(pool, false);
		close_idle(pool);
	}
	pthread_cond_signal(&pool->check_soon);
	pthread_cond_signal(&pool->changed);
	pthread_mutex_unlock(&pool->mutex);
}

/* Opens a connection that open_count already includes. */
static enum err open_reserved(struct conn_pool *pool, void **out)
{
	enum err err = pool->config.kind->open(pool->config.ctx, false, out);
	pthread_mutex_lock(&pool->mutex);
	if (err != OK) {
		pool->open_count--;
		pthread_cond_signal(&pool->check_soon);
	}
	set_reachable(pool, err == OK);
	pthread_mutex_unlock(&pool->mutex);
	return err;
}

static enum err acquire_usable(struct conn_pool *pool, void **out)
{
	struct timespec until = thread_deadline_in_ms(pool->config.wait_ms);
	for (;;) {
		void *conn = NULL;
		pthread_mutex_lock(&pool->mutex);
		enum err err = wait_for_connection(pool, &until, &conn);
		pthread_mutex_unlock(&pool->mutex);
		if (err != OK)
			return err;
		if (!conn)
			return open_reserved(pool, out);
		if (pool->config.kind->is_alive(conn)) {
			*out = conn;
			return OK;
		}
		discard(pool, conn);
	}
}

enum err conn_pool_acquire(struct conn_pool *pool, void **out)
{
	enum err err = acquire_usable(pool, out);
	if (err == OK)
		metrics_add(pool->busy, 1);
	if (err == ERR_LIMIT)
		metrics_add(pool->wait_timeouts, 1);
	return err;
}

void conn_pool_release(struct conn_pool *pool, void *conn)
{
	metrics_add(pool->busy, -1);
	if (!pool->config.kind->is_usable(conn)) {
		discard(pool, conn);
		return;
	}
	pthread_mutex_lock(&pool->mutex);
	keep_idle(pool, conn);
	pthread_mutex_unlock(&pool->mutex);
}

bool conn_pool_is_down(struct conn_pool *pool, int64_t wait_ms)
{
	struct timespec until = thread_deadline_in_ms(wait_ms);
	pthread_mutex_lock(&pool->mutex);
	uint64_t breaks = pool->breaks;
	for (int rc = 0; pool->checked_breaks < breaks && rc == 0;)
		rc = pthread_cond_timedwait(&pool->probed, &pool->mutex, &until);
	bool is_down = pool->is_down && pool->checked_breaks >= breaks;
	pthread_mutex_unlock(&pool->mutex);
	return is_down;
}

bool conn_pool_is_reachable(struct conn_pool *pool)
{
	pthread_mutex_lock(&pool->mutex);
	bool reachable = pool->reachable;
	pthread_mutex_unlock(&pool->mutex);
	return reachable;
}
