/*
 * Safe from any thread. The connections to one server, whatever it speaks: at most max at a time, opened when needed,
 * waiters bounded in time, broken ones replaced, and a thread that watches whether the server can be reached over one
 * connection more. For pg_pool and redis_pool.
 *
 * After an attempt to connect has failed, the watch's or a taker's, takers do not try again: those for whom no
 * connection is idle fail at once, until the watch gets through. A server that hangs instead of refusing (frozen, or
 * the network swallows packets) would make everybody who is given an idle connection wait for a timeout; so the first
 * timeout closes them all.
 */
#ifndef WAYMARK_LIB_NET_CONN_POOL_H
#define WAYMARK_LIB_NET_CONN_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"

struct conn_pool;

struct conn_pool_kind {
	/* quiet: the outage has been logged within the last minute. for_watch: nobody but probe will use it. */
	enum err (*open)(void *ctx, bool quiet, bool for_watch, void **conn);
	void (*close)(void *conn); /* must not wait for the server */
	/* Looks, without waiting, whether an idle connection still stands. */
	bool (*is_alive)(void *conn);
	/* Asks the server something cheap. */
	enum err (*probe)(void *ctx, void *conn);
	/* False once a connection has failed in use; hung: because the server did not answer in time. */
	bool (*usable)(const void *conn);
	bool (*hung)(const void *conn);

	const char *watch_name; /* of the thread, at most 15 bytes */
	const char *event_back; /* logged when the server is reachable again */
	const char *busy_metric;
	const char *max_metric;
	const char *reachable_metric;
	const char *failures_metric;
	const char *waits_metric;
};

struct conn_pool_config {
	const struct conn_pool_kind *kind; /* borrowed */
	void *ctx;
	size_t max;
	size_t min;         /* kept open, and opened ahead by the watch; 0 = none */
	int64_t idle_ms;    /* those beyond min end when nobody has needed them for so long; 0 = never */
	size_t waiters_max; /* who would be one more is refused at once; 0 = any number may wait */
	int64_t wait_ms;    /* for a connection that becomes free */
	int64_t connect_timeout_ms;
	int64_t watch_ms; /* between two probes while the server is there, and while it is not */
	int64_t watch_failing_ms;
	const struct clock *clock;
	const struct log *log;
	struct metrics *metrics; /* may be NULL */
};

struct conn_pool *conn_pool_new(const struct conn_pool_config *config);
/* All connections must have been given back. */
void conn_pool_free(struct conn_pool *pool);

/* ERR_LIMIT: none became free within wait_ms, or too many wait. ERR_UNAVAILABLE: the server cannot be reached. */
enum err conn_pool_take(struct conn_pool *pool, void **out) MUST_CHECK;
void conn_pool_give(struct conn_pool *pool, void *conn);

/*
 * Whether the watch's last probe failed. Statements that took too long are no proof: perhaps it was we who stood still.
 * When a connection has broken since that probe, waits for the next one's verdict, at most wait_ms; false if there is
 * none then.
 */
bool conn_pool_is_away(struct conn_pool *pool, int64_t wait_ms);

/* Whether the last attempt to reach the server succeeded; false before the first. */
bool conn_pool_is_reachable(struct conn_pool *pool);

#endif
