#include "lib/base/conn_pool.h"

#include <pthread.h>

#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/base/thread.h"

#define LOG_AGAIN_US (60 * CLOCK_US_PER_S)

/* An unused connection, and since when (steady). */
struct idle_conn {
	void *conn;
	int64_t since_us;
};

/* A caller that waits for a connection. Waiters are served first come, first served. */
struct waiter {
	pthread_cond_t turn;
	struct waiter *next;
};

struct conn_pool {
	struct conn_pool_config config;
	pthread_mutex_t mutex;
	/* The first is served next. */
	struct waiter *waiters;
	size_t waiter_count;
	/* The health check should not wait. */
	pthread_cond_t check_soon;
	pthread_t health_check;
	/* A stack: the last is used next, so the first are those that idle longest. */
	struct idle_conn *idle;
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

/* With the mutex held. Call it after a connection became free or the server's state changed. */
static void wake_first(struct conn_pool *pool)
{
	if (pool->waiters)
		pthread_cond_signal(&pool->waiters->turn);
}

/* With the mutex held, because closing does not wait for the server. */
static void close_idle(struct conn_pool *pool)
{
	pool->open_count -= pool->idle_count;
	while (pool->idle_count > 0)
		pool->config.kind->close(pool->idle[--pool->idle_count].conn);
}

/* With the mutex held. Closes connections beyond min that have been idle for idle_ms. */
static void close_unneeded(struct conn_pool *pool)
{
	const struct conn_pool_config *c = &pool->config;
	int64_t before_us = clock_steady_us(c->clock) - c->idle_ms * CLOCK_US_PER_MS;
	size_t count = 0;
	while (c->idle_ms > 0 && count < pool->idle_count && pool->open_count - count > c->min &&
	       pool->idle[count].since_us < before_us)
		c->kind->close(pool->idle[count++].conn);
	pool->idle_count -= count;
	pool->open_count -= count;
	for (size_t i = 0; i < pool->idle_count; i++)
		pool->idle[i] = pool->idle[i + count];
}

/* With the mutex held. */
static void keep_idle(struct conn_pool *pool, void *conn)
{
	pool->idle[pool->idle_count++] =
		(struct idle_conn){ conn, clock_steady_us(pool->config.clock) };
	wake_first(pool);
}

/* With the mutex held; releases it to connect. Opens connections up to min, or until one fails. */
static void open_ahead(struct conn_pool *pool)
{
	enum err err = OK;
	while (err == OK && !pool->closing && !pool->failing &&
	       pool->open_count < pool->config.min) {
		void *conn = NULL;
		pool->open_count++;
		pthread_mutex_unlock(&pool->mutex);
		err = pool->config.kind->open(pool->config.ctx, false, false, &conn);
		pthread_mutex_lock(&pool->mutex);
		if (err == OK)
			keep_idle(pool, conn);
		else
			pool->open_count--;
	}
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
	wake_first(pool);
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

static enum err reconnect(struct conn_pool *pool, bool quiet, void **conn, bool *timed_out)
{
	const struct conn_pool_config *c = &pool->config;
	int64_t begun_us = clock_steady_us(c->clock);
	if (*conn)
		c->kind->close(*conn);
	*conn = NULL;
	enum err err = c->kind->open(c->ctx, quiet, true, conn);
	*timed_out = err != OK && clock_steady_us(c->clock) - begun_us >=
	                                  c->connect_timeout_ms * CLOCK_US_PER_MS;
	/* The kernel of a frozen server still accepts connections, so only a response counts. */
	return err == OK ? run_probe(pool, conn, timed_out) : err;
}

/*
 * failing: the last attempt failed. Then the probe opens a new connection: an old one that still
 * works does not prove that callers can connect. It also does so after the old connection broke.
 */
static enum err probe(struct conn_pool *pool, bool failing, bool quiet, void **conn,
                      bool *timed_out)
{
	*timed_out = false;
	if (*conn && !failing && pool->config.kind->is_alive(*conn)) {
		enum err err = run_probe(pool, conn, timed_out);
		if (err == OK || *timed_out)
			return err;
	}
	return reconnect(pool, quiet, conn, timed_out);
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

/* An outage is logged when it begins and then once a minute, because its cause may change. */
static bool is_logged(struct conn_pool *pool, bool failing, int64_t *logged_us)
{
	int64_t now_us = clock_steady_us(pool->config.clock);
	if (failing && now_us < *logged_us + LOG_AGAIN_US)
		return true;
	*logged_us = now_us;
	return false;
}

static void *run_health_check(void *arg)
{
	struct conn_pool *pool = arg;
	void *conn = NULL;
	int64_t logged_us = 0;
	pthread_mutex_lock(&pool->mutex);
	while (!pool->closing) {
		pool->check_now = false;
		uint64_t breaks = pool->breaks;
		bool failing = pool->failing;
		bool timed_out = false;
		pthread_mutex_unlock(&pool->mutex);
		enum err err = probe(pool, failing, is_logged(pool, failing, &logged_us), &conn,
		                     &timed_out);
		pthread_mutex_lock(&pool->mutex);
		set_reachable(pool, err == OK);
		pool->is_down = err != OK;
		pool->checked_breaks = breaks;
		pthread_cond_broadcast(&pool->probed);
		if (timed_out)
			close_idle(pool);
		close_unneeded(pool);
		open_ahead(pool);
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
	pool->idle = mem_array(config->max, sizeof(*pool->idle));
	register_metrics(pool, config->metrics);
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
	for (size_t i = 0; i < pool->idle_count; i++)
		pool->config.kind->close(pool->idle[i].conn);
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
		*conn = pool->idle[--pool->idle_count].conn;
		return OK;
	}
	if (pool->failing)
		return ERR_UNAVAILABLE;
	if (pool->open_count == pool->config.max)
		return ERR_LIMIT;
	pool->open_count++;
	return OK;
}

static void leave_queue(struct conn_pool *pool, struct waiter *me)
{
	struct waiter **at = &pool->waiters;
	while (*at != me)
		at = &(*at)->next;
	*at = me->next;
	pool->waiter_count--;
	/* There may be a connection for the next waiter, too. */
	wake_first(pool);
}

/* With the mutex held. As try_acquire, but waits; ERR_LIMIT after until, or if too many wait. */
static enum err wait_for_connection(struct conn_pool *pool, const struct timespec *until,
                                    void **conn)
{
	bool hopeless = pool->failing && pool->idle_count == 0;
	enum err err = pool->waiters && !hopeless ? ERR_LIMIT : try_acquire(pool, conn);
	if (err != ERR_LIMIT ||
	    (pool->config.waiters_max > 0 && pool->waiter_count >= pool->config.waiters_max))
		return err;
	struct waiter me = { .next = NULL };
	struct waiter **end = &pool->waiters;
	while (*end)
		end = &(*end)->next;
	*end = &me;
	pool->waiter_count++;
	thread_cond_init(&me.turn);
	for (int rc = 0; err == ERR_LIMIT && rc == 0;) {
		rc = pthread_cond_timedwait(&me.turn, &pool->mutex, until);
		if (pool->waiters == &me)
			err = try_acquire(pool, conn);
	}
	leave_queue(pool, &me);
	pthread_cond_destroy(&me.turn);
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
	wake_first(pool);
	pthread_mutex_unlock(&pool->mutex);
}

/* Opens a connection that open_count already includes. */
static enum err open_reserved(struct conn_pool *pool, void **out)
{
	enum err err = pool->config.kind->open(pool->config.ctx, false, false, out);
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
