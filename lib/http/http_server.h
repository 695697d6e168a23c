/*
 * An HTTP/1.1 server: libmicrohttpd, driven by our own loop. Each loop thread runs one daemon
 * (SO_REUSEPORT) and polls the daemon's epoll descriptor, because the library's own epoll loop
 * stalls when exactly 128 events are ready.
 *
 *   static enum http_progress hello(void *ctx, struct http_exchange *x)
 *   {
 *           http_exchange_set_fixed_body(x, "text/plain", "hello", 5);
 *           return HTTP_COMPLETE;
 *   }
 *
 * A request passes these checks before a handler sees it:
 *   - the connection limits (overall, and per peer address) and the deadline for headers and body;
 *   - the framing guard (http_guard.h): if the end of the request is in doubt, the response is 400
 *     and the connection closes, so no smuggled second request ever runs;
 *   - the size limits: 414 (target over target_bytes_max), 431 (headers over head_bytes_max, or
 *     more than 64), 413 (body).
 * Paths and queries stay raw: nothing is percent-decoded here.
 *
 * Each response carries X-Request-Id: the request's own if it is 1 to 64 of [A-Za-z0-9._-], else a
 * new one.
 *
 * Threads: http_server_* belongs to one thread at a time; http_exchange_* to the thread that runs
 * the handler.
 */
#ifndef WAYMARK_LIB_HTTP_HTTP_SERVER_H
#define WAYMARK_LIB_HTTP_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/client_ip.h"
#include "lib/base/clock.h"
#include "lib/base/env.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/base/strbuf.h"
#include "lib/base/trace_context.h"

enum http_method {
	HTTP_GET,
	HTTP_HEAD,
	HTTP_POST,
	HTTP_PUT,
	HTTP_PATCH,
	HTTP_DELETE,
	HTTP_OPTIONS,
	HTTP_OTHER
};

struct http_server;
struct http_exchange; /* a request and its response */

enum http_progress {
	HTTP_COMPLETE,           /* the response is complete: send it */
	HTTP_NEEDS_WORKER,       /* run this handler again on a worker thread, where it may block */
	HTTP_NEEDS_HEAVY_WORKER, /* the same, on a heavy worker: it may block for long */
	HTTP_PENDING,            /* another thread completes it and calls http_exchange_resume */
	HTTP_PENDING_ON_LOOP,    /* the loop hook completes it soon, in this thread; costs no system
	                         calls */
};

/*
 * Runs first in a loop thread, where it must not block. After HTTP_NEEDS_WORKER and
 * HTTP_NEEDS_HEAVY_WORKER it runs again in such a thread, where it may return them again: a cheap
 * check first, then expensive work; or the same work for another flow.
 */
typedef enum http_progress (*http_handler)(void *ctx, struct http_exchange *x);

/*
 * The most bytes that the body of this request may have; body_bytes_max is the ceiling. Called when
 * the head has arrived; the response cannot be written yet. Must not block.
 */
typedef size_t (*http_body_limit)(void *ctx, struct http_exchange *x);

/*
 * Whether the server may receive a body over 32 KiB. Runs on a worker, where it may block, after
 * body_limit and before the body. False: the response is written, and the connection ends with it.
 */
typedef bool (*http_admission)(void *ctx, struct http_exchange *x);

/*
 * Writes the response to a request that the server itself rejects: 400, 408, 411, 413, 414, 431,
 * 500 or 503. 503 means that the worker queue is full, the request waited too long in it, too
 * many large bodies arrive at once, or the server is shutting down; Retry-After is set already.
 * detail is a sentence for people. Must not block.
 */
typedef void (*http_error_response)(void *ctx, struct http_exchange *x, unsigned status,
                                    const char *detail);

/*
 * Called when the head of a request has arrived, with the context from a trusted proxy, or "". It
 * may replace the context by a span of this request; parent is then the span before it, or "". Runs
 * in the loop thread, where it must not block.
 */
typedef void (*http_begin_span)(void *tracer, char context[static TRACE_CONTEXT_SIZE],
                                char parent[static TRACE_CONTEXT_PARENT_SIZE]);

/* Called once per response, after it is queued, in the loop thread. status is what was sent. */
typedef void (*http_observer)(void *ctx, const struct http_exchange *x, unsigned status,
                              int64_t duration_us);

/*
 * Work that shares each loop's thread with the connections, such as a pipeline to another server.
 * It waits for one descriptor and runs before and after the requests of each turn. start runs
 * before the first turn and returns the hook's state for that loop; stop runs after the last turn.
 */
struct http_loop_hook {
	void *(*start)(void *ctx);
	/* For poll; -1: none. */
	int (*descriptor)(void *state, short *events);
	/* Steady: the latest time of the next turn; INT64_MAX: any. */
	int64_t (*deadline_us)(void *state);
	void (*before_requests)(void *state, bool is_readable);
	void (*after_requests)(void *state);
	void (*stop)(void *state);
	void *ctx;
};

/* Rows of a service's table of variables. The members of its struct config have these names. */
#define HTTP_SERVER_OPS_VARS(config_, port_)                                                       \
	ENV_TEXT("OPS_ADDRESS", config_, ops_address, "",                                          \
	         "address that OPS_PORT listens on; empty = all, IPv4 and IPv6"),                  \
		ENV_INT("OPS_PORT", config_, ops_port, port_, 0, 65535,                            \
	                "port of /livez, /readyz and /metrics; 0 = any free port")

#define HTTP_SERVER_VARS(config_, port_, loops_, connections_, per_ip_)                            \
	ENV_TEXT("HTTP_ADDRESS", config_, http_address, "",                                        \
	         "address that HTTP_PORT listens on; empty = all, IPv4 and IPv6"),                 \
		ENV_INT("HTTP_PORT", config_, http_port, port_, 0, 65535,                          \
	                "port of visitors or clients; 0 = any free port"),                         \
		ENV_INT("HTTP_LOOPS", config_, http_loops, loops_, 1, 64,                          \
	                "I/O threads, each with its own event loop; at most one per free core"),   \
		ENV_INT("HTTP_CONNECTIONS", config_, http_connections, connections_, 1, 1000000,   \
	                "largest number of open connections; beyond it, an idle or slow one is "   \
	                "closed for a new one"),                                                   \
		ENV_LIMIT("HTTP_CONNECTIONS_PER_IP", config_, http_connections_per_ip, per_ip_, 1, \
	                  1000000,                                                                 \
	                  "largest number of open connections of one address (IPv6: /64), "        \
	                  "trusted proxies excepted"),                                             \
		ENV_TEXT("TRUSTED_PROXIES", config_, trusted_proxies, "",                          \
	                 "networks of proxies whose CLIENT_IP_HEADER is trusted: 10.0.0.0/8, "     \
	                 "fd00::/8; empty = none"),                                                \
		ENV_TEXT("CLIENT_IP_HEADER", config_, client_ip_header, "X-Forwarded-For",         \
	                 "header in which these proxies name the client: X-Forwarded-For, "        \
	                 "X-Real-IP, CF-Connecting-IP"),                                           \
		ENV_INT("DRAIN_NOTICE_MS", config_, drain_notice_ms, "0", 0, 600000,               \
	                "how long requests are still accepted after SIGTERM while /readyz fails "  \
	                "and each response closes its connection; longer than the health-check "   \
	                "interval of the load balancer")

#define HTTP_LOOPS_MAX 64

struct http_server_config {
	/* For thread names and the log: "public", "ops". */
	const char *name;
	/* To listen on; NULL or "": all, IPv4 and IPv6. */
	const char *address;
	/* 0: any free one, see http_server_port. */
	uint16_t port;
	/* Loop threads, 1 to HTTP_LOOPS_MAX. */
	size_t loops;
	/* Threads for HTTP_NEEDS_WORKER; 0: no handler blocks. */
	size_t workers;
	/* Threads for HTTP_NEEDS_HEAVY_WORKER; may be 0. */
	size_t heavy_workers;
	/*
	 * Requests that may wait for each kind of worker; beyond, those of the flow that waits with
	 * most get 503 with Retry-After: 1.
	 */
	size_t worker_queue;
	/* A request that waits longer for workers gets 503 as soon as one is free; 0: no bound. */
	int64_t worker_wait_ms;
	/* Ceiling overall; beyond it, an idle or slow one is evicted. */
	size_t connections;
	/* 0: no ceiling; addresses in trusted are never limited. */
	size_t connections_per_ip;
	/* Request line and headers; 0: 8192. A connection takes twice that plus 2.5 KiB. */
	size_t head_bytes_max;
	/* Raw path and query; 0: 4096. Must be less than head_bytes_max. */
	size_t target_bytes_max;
	/* GET and HEAD: at most 1 KiB. */
	size_t body_bytes_max;
	/*
	 * Memory of all bodies over 32 KiB together, a quarter of it for each flow; beyond: 503. 0:
	 * no ceiling.
	 */
	size_t bodies_bytes_max;
	/* 411 for chunked bodies, so that none is read. */
	bool needs_length;
	/*
	 * Bodies of methods other than GET and HEAD are not received, and "Expect: 100-continue" is
	 * not answered: the handler runs once the head has arrived, and its response ends the
	 * connection. It must not return HTTP_PENDING_ON_LOOP then. With body_limit, a body with a
	 * Content-Length within the limit is received.
	 */
	bool answers_unread;
	/* From the first byte (or the accept) to the end of headers and body. */
	int64_t header_deadline_ms;
	/* Keep-alive connections without a request, and peers that stop reading. */
	int64_t idle_ms;
	/* How often the reader of a response is checked; 0: 20 s. */
	int64_t send_check_ms;
	/* That a reader takes between two checks; 0: 10,000, so 500 bytes/s. */
	size_t send_bytes_min;
	/* Proxies; may be NULL. */
	const struct client_ip_ranges *trusted;
	/* In which proxies name the client; NULL or "": X-Forwarded-For. Borrowed. */
	const char *client_ip_header;
	http_handler handler;
	/* NULL: body_bytes_max for all. */
	http_body_limit body_limit;
	/* NULL: all; needs workers. */
	http_admission admission;
	http_error_response error_response;
	/* May be NULL. */
	http_observer observer;
	/* NULL: no spans. */
	http_begin_span begin_span;
	/* For begin_span. */
	void *tracer;
	/* Borrowed; may be NULL. */
	const struct http_loop_hook *loop_hook;
	void *ctx;
	const struct clock *clock;
	const struct log *log;
	struct metrics *metrics;
};

#define HTTP_SERVER_ADDRESS_SIZE 46
/* Whether address is "", or an IPv4 or IPv6 address. */
bool http_server_is_address(const char *address);

#define HTTP_SERVER_HEADER_NAME_SIZE 64
/* Checks the variable CLIENT_IP_HEADER, as env_expect does. */
size_t http_server_check_client_ip_header(const char *name, struct strbuf *problems);

/* Binds the port and starts the threads. ERR_UNAVAILABLE: the port is not available (logged). */
enum err http_server_start(const struct http_server_config *config,
                           struct http_server **out) MUST_CHECK;

uint16_t http_server_port(const struct http_server *s);

/*
 * Enters lame-duck mode and returns after notice_ms: the server still accepts connections and
 * requests, but each response ends its connection (Connection: close). Clients move to other
 * servers before http_server_stop, and no connection closes under a request.
 */
void http_server_enter_lame_duck(struct http_server *s, int64_t notice_ms);

/*
 * Stops in order: accepts no new connections, waits up to drain_ms for open requests (each response
 * has Connection: close), ends the threads and frees s. After drain_ms, connections are cut and
 * jobs that still wait for a worker do not start. Handlers that run are always waited for, and so
 * is each HTTP_PENDING until it is resumed.
 */
void http_server_stop(struct http_server *s, int64_t drain_ms);

/* --- the request; everything is borrowed until the response is complete --- */

enum http_method http_exchange_method(const struct http_exchange *x);
const char *http_exchange_method_name(const struct http_exchange *x);
/* Raw bytes of the target before "?"; begins with "/". */
const char *http_exchange_path(const struct http_exchange *x);
/* Raw bytes after "?"; "" if there are none. */
const char *http_exchange_query(const struct http_exchange *x);
/* The first header of that name (case-insensitive), or NULL. Cookies: http_exchange_cookie. */
const char *http_exchange_header(const struct http_exchange *x, const char *name);
/*
 * The first header of each name, found in one walk: values[i] belongs to names[i], or is NULL. At
 * most HTTP_EXCHANGE_FIND_MAX. Costs no more than one call of http_exchange_header.
 */
#define HTTP_EXCHANGE_FIND_MAX 8
void http_exchange_find_headers(const struct http_exchange *x, const char *const names[],
                                const char *values[], size_t count);
/*
 * All headers of that name, joined by ", "; NULL if there are none. X-Forwarded-For needs it: some
 * proxies add a line of their own below the one the client sent. Valid until the next call.
 */
const char *http_exchange_joined_header(struct http_exchange *x, const char *name);
/*
 * The value of a cookie; names are case-sensitive. Valid until the next call, also of
 * http_exchange_joined_header. ERR_NOT_FOUND: no such cookie. ERR_CONFLICT: there are several.
 */
enum err http_exchange_cookie(struct http_exchange *x, const char *name,
                              const char **value) MUST_CHECK;
/* The request's body, followed by a NUL; len 0 if there is none. */
const char *http_exchange_body(const struct http_exchange *x, size_t *len);
/*
 * The address of the client, for use during the request only: never store, send or log it. It is
 * the other end of the connection or, behind a trusted proxy, what client_ip_header says
 * (client_ip_of_request).
 */
struct client_ip http_exchange_client_ip(struct http_exchange *x);
/* As http_exchange_joined_header, of client_ip_header, whoever sent it. */
const char *http_exchange_client_ip_header(struct http_exchange *x);
/* The other end of the connection, which may be a proxy. */
struct client_ip http_exchange_peer(const struct http_exchange *x);
const char *http_exchange_request_id(const struct http_exchange *x);
/*
 * The traceparent from a trusted proxy (trace_context.h), or "". With begin_span: the span of this
 * request, if it has one.
 */
const char *http_exchange_traceparent(const struct http_exchange *x);
/* The span before that of this request; "": this is the first one, or the request has none. */
const char *http_exchange_parent_span(const struct http_exchange *x);
/* Steady and wall time at which the request line arrived. */
int64_t http_exchange_arrived_steady_us(const struct http_exchange *x);
int64_t http_exchange_arrived_us(const struct http_exchange *x);
/*
 * The loop hook's state for the loop of x; only in the loop's thread. NULL without a hook, and for a
 * request whose body is not read (answers_unread).
 */
void *http_exchange_hook_state(const struct http_exchange *x);
bool http_exchange_is_on_worker(const struct http_exchange *x);

/*
 * Says for whom the request is: an account, a network. The flow shares workers and memory fairly
 * with others (fair_queue.h): at most half of each kind of workers run requests of one flow. 0, the
 * default: nobody in particular, no limit. Not for a request that waits for a worker.
 */
void http_exchange_set_flow(struct http_exchange *x, uint64_t flow);

/* The handler's state from HTTP_NEEDS_WORKER or HTTP_PENDING to the end; release runs last. */
void http_exchange_set_state(struct http_exchange *x, void *state, void (*release)(void *state));
void *http_exchange_state(const struct http_exchange *x);

/* --- the response --- */

/* Default 200. */
void http_exchange_set_status(struct http_exchange *x, unsigned status);
/*
 * Copies; keeps earlier headers of the same name. ERR_INVALID: a control byte (CR, LF, NUL, …) in
 * name or value. ERR_LIMIT: too many headers or bytes. Nothing is added then.
 */
enum err http_exchange_add_header(struct http_exchange *x, const char *name,
                                  const char *value) MUST_CHECK;
/* Adds a header whose name and value are literals, or live as long as the server. */
void http_exchange_add_fixed_header(struct http_exchange *x, const char *name, const char *value);
/* The same, but replaces earlier headers of that name. */
void http_exchange_set_fixed_header(struct http_exchange *x, const char *name, const char *value);
/* Copies the body, replaces an earlier one, sets Content-Type. HEAD gets headers and length. */
void http_exchange_set_body(struct http_exchange *x, const char *content_type, const void *bytes,
                            size_t len);
/* The same for bytes that live as long as the program; they are borrowed. */
void http_exchange_set_fixed_body(struct http_exchange *x, const char *content_type,
                                  const void *bytes, size_t len);

enum http_chunk {
	HTTP_CHUNK_MORE,   /* another chunk may follow */
	HTTP_CHUNK_LAST,   /* the body is complete */
	HTTP_CHUNK_FAILED, /* the rest cannot be read: the connection is cut, so the client sees an
	                      incomplete body */
};

/*
 * Appends the next chunk of a body to out. Runs on a worker thread and may block. out is empty, and
 * the reader itself bounds the chunk. An empty chunk is allowed.
 */
typedef enum http_chunk (*http_body_reader)(void *arg, struct strbuf *out);

/*
 * Streams a body of unknown length. The body set so far is the first chunk; the reader makes each
 * further one after the client has taken the chunk before. So memory holds one chunk, however long
 * the body is and however slowly it is read. A chunk that is not taken within idle_ms ends the
 * connection. Needs workers: when their queue is full, the chunk waits. arg is borrowed until the
 * exchange ends, which may happen between two calls of the reader.
 */
void http_exchange_set_body_reader(struct http_exchange *x, http_body_reader reader, void *arg);
/*
 * In a body reader: how long the client has taken for all chunks so far. The time in which chunks
 * were read, or waited for a worker, does not count.
 */
int64_t http_exchange_taking_us(const struct http_exchange *x);

/*
 * The same for a body that waits for what another thread brings, without a worker and without a
 * system call. The reader runs in the loop thread and must not block. If it adds nothing and
 * returns HTTP_CHUNK_MORE, the connection is suspended until http_exchange_resume, which it then
 * owes: call it once, at the latest when the server stops.
 */
void http_exchange_set_push_reader(struct http_exchange *x, http_body_reader reader, void *arg);

/*
 * Whether the client has closed its side of the connection: it sends nothing more, and usually it
 * reads nothing more. A suspended push reader learns it in no other way. Safe from any thread until
 * the exchange ends.
 */
bool http_exchange_is_half_closed(const struct http_exchange *x);

/*
 * Ends HTTP_PENDING, and the wait of a push reader. Safe from any thread, also before the handler
 * has returned HTTP_PENDING. The server owns x from here on.
 */
void http_exchange_resume(struct http_exchange *x);

/*
 * Turns HTTP_PENDING_ON_LOOP into HTTP_PENDING. Call it in the loop's thread before another thread
 * learns of x. While the handler still runs, the handler must then return HTTP_PENDING.
 */
void http_exchange_suspend(struct http_exchange *x);

/*
 * Whether the client has closed the connection during HTTP_PENDING_ON_LOOP: no response will be
 * sent and the headers are gone. The exchange must still be resumed.
 */
bool http_exchange_is_abandoned(const struct http_exchange *x);

#endif
