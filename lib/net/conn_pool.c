#include "lib/net/conn_pool.h"

#include <pthread.h>

#include "lib/base/deadline.h"
#include "lib/base/mem.h"

#define TELL_AGAIN_US (60 * CLOCK_US_PER_S)

/* A connection that nobody uses, and since when (steady). */
struct idle_conn {
	void *conn;
	int64_t since_us;
};

/* Somebody who waits for a connection. They are served in the order of their coming. */
struct waiter {
	pthread_cond_t turn;
	struct waiter *next;
};

struct conn_pool {
	struct conn_pool_config config;
	pthread_mutex_t mutex;
	struct waiter *waiters; /* the first is the next to be served */
	size_t waiter_count;
	pthread_cond_t probe_soon; /* the watch has a reason not to wait */
	pthread_t watch;
	struct idle_conn *idle; /* the last is the next to be used, so that the first are those that nobody needs */
	size_t idle_count;
	size_t open_count; /* idle, given out and being opened */
	bool reachable;    /* the last attempt to reach the server succeeded */
	bool failing;      /* … failed; neither, before the first */
	bool suspicious;   /* somebody saw a connection break: look now */
	uint64_t breaks;   /* how often somebody did */
	uint64_t judged;   /* of these, how many came before the last probe began */
	bool is_away;      /* the last probe failed */
	pthread_cond_t probed;
	bool closing;
	struct metric *busy;
	struct metric *shows_reachable;
	struct metric *connect_failures;
	struct metric *wait_timeouts;
};

/* With the mutex held, after a connection or a place became free, or the server's state has changed. */
static void wake_first(struct conn_pool *pool)
{
	if (pool->waiters)
		pthread_cond_signal(&pool->waiters->turn);
}

/* With the mutex held; closing does not wait for the server. */
static void drop_idle(struct conn_pool *pool)
{
	pool->open_count -= pool->idle_count;
	while (pool->idle_count > 0)
		pool->config.kind->close(pool->idle[--pool->idle_count].conn);
}

/* With the mutex held: closes what more than min has been idle for too long. */
static void drop_unneeded(struct conn_pool *pool)
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
	pool->idle[pool->idle_count++] = (struct idle_conn){ conn, clock_steady_us(pool->config.clock) };
	wake_first(pool);
}

/* With the mutex held, which is left meanwhile: opens connections until there are min, or one cannot be had. */
static void open_ahead(struct conn_pool *pool)
{
	enum err err = OK;
	while (err == OK && !pool->closing && !pool->failing && pool->open_count < pool->config.min) {
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

/* With the mutex held. Logs the change only. */
static void set_reachable(struct conn_pool *pool, bool reachable)
{
	if (reachable && pool->failing)
		log_info(pool->config.log, pool->config.kind->event_back);
	if (!reachable)
		metrics_add(pool->connect_failures, 1);
	pool->reachable = reachable;
	pool->failing = !reachable;
	metrics_set(pool->shows_reachable, reachable);
	wake_first(pool);
}

/* Asks over the watch's connection, and closes it if that fails. *hung: there was no answer in time. */
static enum err ask(struct conn_pool *pool, void **watch, bool *hung)
{
	const struct conn_pool_kind *kind = pool->config.kind;
	enum err err = kind->probe(pool->config.ctx, *watch);
	if (err != OK) {
		*hung = kind->hung(*watch);
		kind->close(*watch);
		*watch = NULL;
	}
	return err;
}

static enum err reconnect(struct conn_pool *pool, bool quiet, void **watch, bool *hung)
{
	const struct conn_pool_config *c = &pool->config;
	int64_t begun_us = clock_steady_us(c->clock);
	if (*watch)
		c->kind->close(*watch);
	*watch = NULL;
	enum err err = c->kind->open(c->ctx, quiet, true, watch);
	*hung = err != OK && clock_steady_us(c->clock) - begun_us >= c->connect_timeout_ms * CLOCK_US_PER_MS;
	/* The kernel of a frozen server still accepts: only an answer counts. */
	return err == OK ? ask(pool, watch, hung) : err;
}

/*
 * failing: the last attempt failed. Then an old connection that still works proves nothing, nor ever does one that broke.
 */
static enum err probe(struct conn_pool *pool, bool failing, bool quiet, void **watch, bool *hung)
{
	*hung = false;
	if (*watch && !failing && pool->config.kind->is_alive(*watch)) {
		enum err err = ask(pool, watch, hung);
		if (err == OK || *hung)
			return err;
	}
	return reconnect(pool, quiet, watch, hung);
}

/* Until the next probe is due. With the mutex held. */
static void rest(struct conn_pool *pool)
{
	bool failing = pool->failing;
	struct timespec until = deadline_in_ms(failing ? pool->config.watch_failing_ms : pool->config.watch_ms);
	int rc = 0;
	while (!pool->closing && !pool->suspicious && rc == 0) {
		rc = pthread_cond_timedwait(&pool->probe_soon, &pool->mutex, &until);
		if (pool->failing && !failing) {
			failing = true;
			until = deadline_in_ms(pool->config.watch_failing_ms);
		}
	}
}

/* An outage is a line when it begins and one a minute: what it is may change, from no server to one that is not ours. */
static bool is_told(struct conn_pool *pool, bool failing, int64_t *told_us)
{
	int64_t now_us = clock_steady_us(pool->config.clock);
	if (failing && now_us < *told_us + TELL_AGAIN_US)
		return true;
	*told_us = now_us;
	return false;
}

static void *watch_server(void *arg)
{
	struct conn_pool *pool = arg;
	void *watch = NULL;
	int64_t told_us = 0;
	pthread_mutex_lock(&pool->mutex);
	while (!pool->closing) {
		pool->suspicious = false;
		uint64_t breaks = pool->breaks;
		bool failing = pool->failing;
		bool hung = false;
		pthread_mutex_unlock(&pool->mutex);
		enum err err = probe(pool, failing, is_told(pool, failing, &told_us), &watch, &hung);
		pthread_mutex_lock(&pool->mutex);
		set_reachable(pool, err == OK);
		pool->is_away = err != OK;
		pool->judged = breaks;
		pthread_cond_broadcast(&pool->probed);
		if (hung)
			drop_idle(pool);
		drop_unneeded(pool);
		open_ahead(pool);
		rest(pool);
	}
	pthread_mutex_unlock(&pool->mutex);
	if (watch)
		pool->config.kind->close(watch);
	return NULL;
}

static void register_metrics(struct conn_pool *pool, struct metrics *m)
{
	if (!m)
		return;
	const struct conn_pool_kind *kind = pool->config.kind;
	pool->busy = metrics_gauge(m, kind->busy_metric, "Connections in use", NULL);
	metrics_add(metrics_gauge(m, kind->max_metric, "Connections that may be in use", NULL),
	            (int64_t)pool->config.max);
	pool->shows_reachable =
		metrics_gauge(m, kind->reachable_metric, "1 if the last attempt to reach the server succeeded", NULL);
	pool->connect_failures = metrics_counter(m, kind->failures_metric, "Failed attempts to reach the server", NULL);
	pool->wait_timeouts =
		metrics_counter(m, kind->waits_metric, "Callers for whom no connection became free in time", NULL);
}

struct conn_pool *conn_pool_new(const struct conn_pool_config *config)
{
	struct conn_pool *pool = mem_zero(sizeof(*pool));
	pool->config = *config;
	pool->idle = mem_array(config->max, sizeof(*pool->idle));
	register_metrics(pool, config->metrics);
	deadline_cond_init(&pool->probe_soon);
	deadline_cond_init(&pool->probed);
	pthread_mutex_init(&pool->mutex, NULL);
	if (pthread_create(&pool->watch, NULL, watch_server, pool) != 0)
		abort();
	pthread_setname_np(pool->watch, config->kind->watch_name);
	return pool;
}

void conn_pool_free(struct conn_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->mutex);
	pool->closing = true;
	pthread_cond_signal(&pool->probe_soon);
	pthread_mutex_unlock(&pool->mutex);
	pthread_join(pool->watch, NULL);
	for (size_t i = 0; i < pool->idle_count; i++)
		pool->config.kind->close(pool->idle[i].conn);
	pthread_cond_destroy(&pool->probe_soon);
	pthread_cond_destroy(&pool->probed);
	pthread_mutex_destroy(&pool->mutex);
	free(pool->idle);
	free(pool);
}

/*
 * With the mutex held. OK with *conn: an idle connection. OK with NULL: the caller may open one, its place is taken.
 * ERR_LIMIT: neither is to be had now.
 */
static enum err try_place(struct conn_pool *pool, void **conn)
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
	/* There may be enough for the next one, too. */
	wake_first(pool);
}

/* With the mutex held; as try_place, but ERR_LIMIT only when it is too late. */
static enum err wait_for_place(struct conn_pool *pool, const struct timespec *until, void **conn)
{
	bool hopeless = pool->failing && pool->idle_count == 0;
	enum err err = pool->waiters && !hopeless ? ERR_LIMIT : try_place(pool, conn);
	if (err != ERR_LIMIT || (pool->config.waiters_max > 0 && pool->waiter_count >= pool->config.waiters_max))
		return err;
	struct waiter me = { .next = NULL };
	struct waiter **end = &pool->waiters;
	while (*end)
		end = &(*end)->next;
	*end = &me;
	pool->waiter_count++;
	deadline_cond_init(&me.turn);
	for (int rc = 0; err == ERR_LIMIT && rc == 0;) {
		rc = pthread_cond_timedwait(&me.turn, &pool->mutex, until);
		if (pool->waiters == &me)
			err = try_place(pool, conn);
	}
	leave_queue(pool, &me);
	pthread_cond_destroy(&me.turn);
	return err;
}

/* Gives up the place of a connection that broke. */
static void discard(struct conn_pool *pool, void *conn)
{
	bool hung = pool->config.kind->hung(conn);
	pool->config.kind->close(conn);
	pthread_mutex_lock(&pool->mutex);
	pool->open_count--;
	pool->suspicious = true;
	pool->breaks++;
	if (hung) {
		set_reachable(pool, false);
		drop_idle(pool);
	}
	pthread_cond_signal(&pool->probe_soon);
	wake_first(pool);
	pthread_mutex_unlock(&pool->mutex);
}

/* Opens a connection in a place that has been taken. */
static enum err open_in_place(struct conn_pool *pool, void **out)
{
	enum err err = pool->config.kind->open(pool->config.ctx, false, false, out);
	pthread_mutex_lock(&pool->mutex);
	if (err != OK) {
		pool->open_count--;
		pthread_cond_signal(&pool->probe_soon);
	}
	set_reachable(pool, err == OK);
	pthread_mutex_unlock(&pool->mutex);
	return err;
}

static enum err take_usable(struct conn_pool *pool, void **out)
{
	struct timespec until = deadline_in_ms(pool->config.wait_ms);
	for (;;) {
		void *conn = NULL;
		pthread_mutex_lock(&pool->mutex);
		enum err err = wait_for_place(pool, &until, &conn);
		pthread_mutex_unlock(&pool->mutex);
		if (err != OK)
			return err;
		if (!conn)
			return open_in_place(pool, out);
		if (pool->config.kind->is_alive(conn)) {
			*out = conn;
			return OK;
		}
		discard(pool, conn);
	}
}

enum err conn_pool_take(struct conn_pool *pool, void **out)
{
	enum err err = take_usable(pool, out);
	if (err == OK)
		metrics_add(pool->busy, 1);
	if (err == ERR_LIMIT)
		metrics_add(pool->wait_timeouts, 1);
	return err;
}

void conn_pool_give(struct conn_pool *pool, void *conn)
{
	metrics_add(pool->busy, -1);
	if (!pool->config.kind->usable(conn)) {
		discard(pool, conn);
		return;
	}
	pthread_mutex_lock(&pool->mutex);
	keep_idle(pool, conn);
	pthread_mutex_unlock(&pool->mutex);
}

bool conn_pool_is_away(struct conn_pool *pool, int64_t wait_ms)
{
	struct timespec until = deadline_in_ms(wait_ms);
	pthread_mutex_lock(&pool->mutex);
	uint64_t breaks = pool->breaks;
	for (int rc = 0; pool->judged < breaks && rc == 0;)
		rc = pthread_cond_timedwait(&pool->probed, &pool->mutex, &until);
	bool is_away = pool->is_away && pool->judged >= breaks;
	pthread_mutex_unlock(&pool->mutex);
	return is_away;
}

bool conn_pool_is_reachable(struct conn_pool *pool)
{
	pthread_mutex_lock(&pool->mutex);
	bool reachable = pool->reachable;
	pthread_mutex_unlock(&pool->mutex);
	return reachable;
}
