/*
 * HTTP/1.1 on libmicrohttpd, driven by our own loop: one daemon per loop thread (SO_REUSEPORT), polled on its epoll
 * descriptor, because the library's own epoll loop stalls when exactly 128 events are ready. http_server_* is one
 * thread at a time; http_exchange_* belongs to whoever runs the handler at that moment.
 *
 * What a request passes before a handler sees it:
 *   - the connection ceilings (overall, and per peer address) and the absolute deadline for headers and body;
 *   - the framing guard: any doubt where the request ends (two Content-Lengths, Content-Length with
 *     Transfer-Encoding, unknown transfer codings, Transfer-Encoding in HTTP/1.0, white space before a colon, two
 *     Hosts, no Host in 1.1) is 400 and the connection closes, so that no hidden second request is ever executed;
 *   - the size limits: 414 (target over target_bytes_max or 64 pairs in its query), 431 (headers over head_bytes_max or
 *     more than 64), 413 (body).
 * Paths and queries are handed over raw: no percent-decoding happens here.
 *
 * Each answer carries X-Request-Id: the request's own, if it is 1 to 64 of [A-Za-z0-9._-], else a new one.
 */
#ifndef WAYMARK_LIB_NET_HTTP_SERVER_H
#define WAYMARK_LIB_NET_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/base/strbuf.h"
#include "lib/net/client_ip.h"

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_PUT, HTTP_PATCH, HTTP_DELETE, HTTP_OPTIONS, HTTP_OTHER };

struct http_server;
struct http_exchange; /* one request and its answer */

enum http_progress {
	HTTP_ANSWERED,     /* the answer is complete: send it */
	HTTP_BLOCKS,       /* run this handler again on a worker thread; the connection waits, the loop does not */
	HTTP_PENDING,      /* somebody else completes it and calls http_exchange_resume; the connection waits */
	HTTP_PENDING_HERE, /* as HTTP_PENDING, but soon and in this very thread, by the guest: costs no system calls */
};

/* Runs first in a loop thread, where it must not block; after HTTP_BLOCKS once more, in a worker thread. */
typedef enum http_progress (*http_handler)(void *ctx, struct http_exchange *x);

/*
 * The most bytes that the body of this request may have; more than body_bytes_max counts as that. Its head has arrived,
 * nothing can be answered yet. Must not block.
 */
typedef size_t (*http_body_limit)(void *ctx, struct http_exchange *x);

/*
 * Writes the answer for a request that the server itself refuses: 400, 408, 411, 413, 414, 431, 503 (worker queue full,
 * too many large bodies at once, shutting down; with Retry-After set already), 500. detail is a sentence for people. Must not block.
 */
typedef void (*http_refusal)(void *ctx, struct http_exchange *x, unsigned status, const char *detail);

/* Told once per answered request, after it has been queued, in the loop thread. status is what was sent. */
typedef void (*http_observer)(void *ctx, const struct http_exchange *x, unsigned status, int64_t duration_us);

/*
 * Something that lives in each loop's thread beside the connections: it waits for one descriptor, and works before and
 * after the requests of a turn. enter runs before the first turn and gives the guest's state of that loop; leave runs
 * after the last.
 */
struct http_guest {
	void *(*enter)(void *ctx);
	int (*descriptor)(void *state, short *events); /* for poll; -1: none */
	int64_t (*deadline_us)(void *state);           /* steady: the next turn is no later; INT64_MAX = whenever */
	void (*receive)(void *state, bool is_readable);
	void (*send)(void *state);
	void (*leave)(void *state);
	void *ctx;
};

struct http_server_config {
	const char *name;           /* thread names and metrics label: "public", "ops" */
	const char *address;        /* NULL = all addresses, IPv4 and IPv6 */
	uint16_t port;              /* 0 = any free one, see http_server_port */
	size_t loops;               /* loop threads, at least 1 */
	size_t workers;             /* threads for HTTP_BLOCKS; 0 = no handler blocks */
	size_t worker_queue;        /* requests that may wait for a worker; beyond: 503 with Retry-After: 1 */
	size_t connections;         /* ceiling overall */
	size_t connections_per_ip;  /* 0 = no ceiling; addresses in trusted are never limited */
	size_t head_bytes_max;      /* request line and headers; 0 = 8192. A connection takes twice that and 2.5 KiB */
	size_t target_bytes_max;    /* path and query as they arrive; 0 = 4096. Less than head_bytes_max */
	size_t body_bytes_max;      /* of GET and HEAD at most 1 KiB */
	size_t bodies_bytes_max;    /* memory of all bodies beyond 16 KiB at once; beyond: 503. 0 = no ceiling */
	bool needs_length;          /* a body in chunks is refused with 411, so that nobody's chunks are read */
	int64_t header_deadline_ms; /* from the first byte (or the accept) to the end of headers and body */
	int64_t idle_ms;            /* keep-alive connections without a request; peers that do not take their answer */
	const struct client_ip_ranges *trusted; /* proxies; may be NULL */
	http_handler handler;
	http_body_limit body_limit; /* NULL: body_bytes_max for all */
	http_refusal refusal;
	http_observer observer;         /* may be NULL */
	const struct http_guest *guest; /* borrowed; may be NULL */
	void *ctx;
	const struct clock *clock;
	const struct log *log;
	struct metrics *metrics;
};

/* Binds and starts the threads. ERR_UNAVAILABLE: the port cannot be had (logged). */
enum err http_server_start(const struct http_server_config *config, struct http_server **out) MUST_CHECK;

uint16_t http_server_port(const struct http_server *s);

/*
 * For the time between telling proxies that we go and going. From here on each answer ends its connection
 * (Connection: close), so that whoever asks often asks elsewhere and no connection is closed under a request;
 * connections and requests are taken as before. Returns after notice_ms.
 */
void http_server_give_notice(struct http_server *s, int64_t notice_ms);

/*
 * Stops in order: no new connections, waits up to drain_ms for requests under way (each answered with
 * Connection: close), ends the threads and frees s. What is not done by then is cut off, and jobs that still wait for a
 * worker are not begun; but handlers that run are waited for, and so is each HTTP_PENDING until it is resumed.
 */
void http_server_stop(struct http_server *s, int64_t drain_ms);

/* --- the request; everything is borrowed until the exchange is answered --- */

enum http_method http_exchange_method(const struct http_exchange *x);
const char *http_exchange_method_name(const struct http_exchange *x);
/* Raw bytes of the target before "?": begins with "/". */
const char *http_exchange_path(const struct http_exchange *x);
/* Raw bytes after "?", "" if there are none. */
const char *http_exchange_query(const struct http_exchange *x);
/* The first header of that name (case-insensitive), or NULL. */
const char *http_exchange_header(const struct http_exchange *x, const char *name);
/*
 * The first header of each of these names in one walk, which costs no more than asking for one: values[i] is that of
 * names[i], or NULL.
 */
void http_exchange_find_headers(const struct http_exchange *x, const char *const names[], const char *values[],
                                size_t count);
/*
 * All headers of that name in one list, joined by ", ", or NULL if there are none. For X-Forwarded-For: some proxies
 * add a line of their own below the visitor's claim. Valid until the next call.
 */
const char *http_exchange_joined_header(struct http_exchange *x, const char *name);
/* len 0 if there is no body. The bytes are followed by a NUL. */
const char *http_exchange_body(const struct http_exchange *x, size_t *len);
/* Who is at the other end of the connection; a proxy, perhaps: see client_ip_of_request. */
struct client_ip http_exchange_peer(const struct http_exchange *x);
const char *http_exchange_request_id(const struct http_exchange *x);
/* The trace that a trusted proxy says the request belongs to (trace_context.h), or "". */
const char *http_exchange_traceparent(const struct http_exchange *x);
/* Steady and wall time at which the request line arrived. */
int64_t http_exchange_arrived_steady_us(const struct http_exchange *x);
int64_t http_exchange_arrived_us(const struct http_exchange *x);
/* The guest's state in the loop that x belongs to; for handlers in the loop's thread. NULL without a guest. */
void *http_exchange_guest(const struct http_exchange *x);
bool http_exchange_on_worker(const struct http_exchange *x);

/* A slot for the handler's own state between HTTP_BLOCKS or HTTP_PENDING and the end; release runs at the very end. */
void http_exchange_set_state(struct http_exchange *x, void *state, void (*release)(void *state));
void *http_exchange_state(const struct http_exchange *x);

/* --- the answer --- */

/* Default 200. */
void http_exchange_set_status(struct http_exchange *x, unsigned status);
/*
 * Copies. ERR_INVALID: a control byte (CR, LF, NUL, ...) in name or value; nothing was added. A second header of the
 * same name is added beside the first.
 */
enum err http_exchange_add_header(struct http_exchange *x, const char *name, const char *value) MUST_CHECK;
/* For names and values that are literals of ours. */
void http_exchange_add_fixed_header(struct http_exchange *x, const char *name, const char *value);
/* The same, in the place of the fixed header of that name, if there is one already. */
void http_exchange_set_fixed_header(struct http_exchange *x, const char *name, const char *value);
/* Copies. Replaces an earlier body; sets Content-Type. HEAD requests get the headers and the length alone. */
void http_exchange_set_body(struct http_exchange *x, const char *content_type, const void *bytes, size_t len);
/* Borrowed bytes that live as long as the program (fixed pages). */
void http_exchange_set_fixed_body(struct http_exchange *x, const char *content_type, const void *bytes, size_t len);

enum http_piece {
	HTTP_PIECE_MORE, /* there may be another one behind it */
	HTTP_PIECE_LAST, /* this was all */
	HTTP_PIECE_BROKEN, /* there is more, but it cannot be had: the connection is cut, so that nobody takes it for whole */
};

/*
 * Adds the next piece of a body to out, on a worker thread, where it may block; out is empty, and bounded by source
 * itself. An empty piece is allowed.
 */
typedef enum http_piece (*http_source)(void *arg, struct strbuf *out);

/*
 * The body set so far is the first piece of one whose length nobody knows; source gives the others, each when the
 * client has taken the one before it. So memory holds one piece, however long the body is, and however slowly it is
 * read; a piece that is not taken within idle_ms ends the connection. Needs workers; when too many jobs wait for them,
 * so does the body. arg is borrowed until the end of the exchange, which may come any time between two calls of source.
 */
void http_exchange_set_source(struct http_exchange *x, http_source source, void *arg);

/*
 * Ends HTTP_PENDING. Safe from any thread, also before the handler has returned HTTP_PENDING; x belongs to the server
 * from here on.
 */
void http_exchange_resume(struct http_exchange *x);

/*
 * HTTP_PENDING_HERE becomes HTTP_PENDING: in the loop's thread, before another thread is told of x. Also while the
 * handler still runs, which then has to return HTTP_PENDING.
 */
void http_exchange_leave_loop(struct http_exchange *x);

/*
 * Whether the visitor has hung up during HTTP_PENDING_HERE: nobody will get an answer, the headers are gone. It must be
 * resumed all the same.
 */
bool http_exchange_is_abandoned(const struct http_exchange *x);

#endif
