/*
 * Private to the http_* files: one thread, one libmicrohttpd daemon, its connections and their deadlines.
 *
 * A connection is always in one of four lists:
 *   receiving   accepted, or the request line has come; ends after header_deadline_ms
 *   idle        between requests; ends after idle_ms
 *   busy        the handler works, or the answer is being sent; ends when the peer is gone (see stalled_ms of
 *               http_listener.h)
 *   streaming   a piece of a body with a source is being made or sent; ends idle_ms after it was asked for
 */
#ifndef WAYMARK_LIB_NET_HTTP_LOOP_H
#define WAYMARK_LIB_NET_HTTP_LOOP_H

#include <pthread.h>

#include "lib/base/worker_pool.h"
#include "lib/net/http_body_budget.h"
#include "lib/net/http_connection.h"
#include "lib/net/http_connection_limit.h"
#include "lib/net/http_linger.h"
#include "lib/net/http_metrics.h"
#include "lib/net/http_request_id.h"

/* What the loops of one server share. */
struct http_service {
	struct http_server_config config;
	struct http_connection_limit *limit;
	struct worker_pool *workers; /* NULL: no handler may block */
	struct http_metrics metrics;
	struct http_body_budget bodies;
	_Atomic bool is_leaving; /* each answer ends its connection */
	_Atomic bool draining;
	_Atomic int64_t drain_ms;
	_Atomic bool given_up; /* the time for draining is over: jobs that still wait are not begun */
};

struct http_loop {
	struct http_service *service;
	size_t index;
	pthread_t thread;
	void *daemon;
	int listen_fd; /* the daemon's, until it is quiesced */
	int wake_fd;
	_Atomic bool woken; /* wake_fd has been written to since the loop last read it */
	int64_t now_us;     /* steady, of this turn */
	struct http_connection_list receiving, idle, busy, streaming;
	struct http_connection *spare; /* records for connections to come, linked by next */
	size_t open;
	size_t in_line; /* exchanges whose connections wait without being suspended (HTTP_PENDING_HERE) */
	void *guest_state;
	struct http_linger linger;
	struct http_request_id_source ids;
	_Atomic unsigned resumers; /* threads inside http_exchange_resume */
	bool draining;
	int64_t drain_until_us;
};

/*
 * Starts the daemon on a listening socket, which the loop owns from here on, and the thread. ERR_UNAVAILABLE: it
 * cannot (logged).
 */
enum err http_loop_start(struct http_loop *loop, struct http_service *service, size_t index, int listen_fd) MUST_CHECK;

/* Safe from any thread. Makes the loop take a turn: the library itself does not wake a loop that is not its own. */
void http_loop_wake(struct http_loop *loop);

/* Waits until the loop has drained, and frees what it holds. */
void http_loop_join(struct http_loop *loop);

#endif
