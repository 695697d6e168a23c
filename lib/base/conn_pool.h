/*
 * Safe from any thread. A pool of connections to one server, for any protocol. It holds at most max
 * connections, opens them when needed, bounds the time that callers wait, and replaces broken
 * connections. A health-check thread probes the server over one more connection. pg_pool and
 * redis_pool build on it.
 *
 * A dead server costs callers nothing: after a failed attempt to connect, only the health check
 * tries again, and callers without an idle connection fail at once. A server that hangs (frozen, or
 * the network drops packets) would cost each caller with an idle connection a timeout, so the first
 * timeout closes all idle connections.
 */
#ifndef WAYMARK_LIB_BASE_CONN_POOL_H
#define WAYMARK_LIB_BASE_CONN_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"

struct conn_pool;

struct conn_pool_kind {
	/* Logs why it fails, with log_limited_warning. for_health_check: only probe uses it. */
	enum err (*open)(void *ctx, bool for_health_check, void **conn);
	/* Must not wait for the server. */
	void (*close)(void *conn);
	/* Whether an idle connection is still open. Must not wait. */
	bool (*is_alive)(void *conn);
	/* Runs a cheap request. */
	enum err (*probe)(void *ctx, void *conn);
	/* False once a connection has failed in use. */
	bool (*is_usable)(const void *conn);
	/* Whether it failed because the server did not respond in time. */
	bool (*timed_out)(const void *conn);

	/* Of the health check, at most 15 bytes. */
	const char *thread_name;
	/* Logged when the server is reachable again. */
	const char *event_reachable;
	/* Logged by open. */
	const char *event_unreachable;
	const char *busy_metric;
	const char *max_metric;
	const char *reachable_metric;
	const char *failures_metric;
	const char *waits_metric;
};

struct conn_pool_config {
	/* Borrowed. */
	const struct conn_pool_kind *kind;
	void *ctx;
	size_t max;
	/* Callers beyond it fail at once; 0: no ceiling. */
	size_t waiters_max;
	/* How long a caller waits for a free connection. */
	int64_t wait_ms;
	int64_t connect_timeout_ms;
	/* Between two probes while the server is reachable, and while it is not. */
	int64_t check_ms;
	int64_t check_failing_ms;
	const struct clock *clock;
	const struct log *log;
	/* May be NULL. */
	struct metrics *metrics;
};

struct conn_pool *conn_pool_new(const struct conn_pool_config *config);
/* All connections must have been released. */
void conn_pool_free(struct conn_pool *pool);

/* ERR_LIMIT: none became free within wait_ms, or too many wait. ERR_UNAVAILABLE: server down. */
enum err conn_pool_acquire(struct conn_pool *pool, void **out) MUST_CHECK;
/* Closes a connection that is not usable any more. */
void conn_pool_release(struct conn_pool *pool, void *conn);

/*
 * Whether the last probe failed. A request that timed out proves nothing: our own process may have
 * been paused. If a connection has broken since the last probe, waits at most wait_ms for the next
 * one; false if it has not ended by then.
 */
bool conn_pool_is_down(struct conn_pool *pool, int64_t wait_ms);

/* Whether the last attempt to reach the server succeeded; false before the first. */
bool conn_pool_is_reachable(struct conn_pool *pool);

#endif
