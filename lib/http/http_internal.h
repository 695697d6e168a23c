/*
 * The one header that the HTTP core shares: exchange, connection, loop, request and response. Only
 * the http_* files include it. Everything here belongs to one thread at a time, unless it says
 * otherwise.
 *
 *   http_loop.c        one thread, one libmicrohttpd daemon, its connections
 *   http_limit.c       how many connections, and how much memory for bodies, each may have
 *   http_expiry.c      which connections end: those past a deadline, evicted and half-closed ones
 *   http_connection.c  the record of a connection, and the lists that order connections by age
 *   http_request.c     what happens to a request, from the library's calls to the queued response
 *   http_exchange.c    the request and response that a handler sees
 *   http_response.c    how a finished response reaches the socket, whole or in chunks
 */
#ifndef WAYMARK_LIB_HTTP_HTTP_INTERNAL_H
#define WAYMARK_LIB_HTTP_HTTP_INTERNAL_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "lib/base/strbuf.h"
#include "lib/base/trace_context.h"
#include "lib/base/worker_pool.h"
#include "lib/http/http_server.h"

/* --- request ids: unique across processes, but not secret --- */

#define HTTP_REQUEST_ID_LEN 24
#define HTTP_REQUEST_ID_LEN_MAX 64

struct http_request_id_source {
	uint64_t seed, count;
	uint32_t origin;
};

void http_request_id_init(struct http_request_id_source *source);
void http_request_id_next(struct http_request_id_source *source,
                          char out[static HTTP_REQUEST_ID_LEN + 1]);

/* 1 to 64 of [A-Za-z0-9._-]. */
bool http_request_id_is_valid(const char *text);

/* --- exchange: a request and its response --- */

#define HTTP_EXCHANGE_HEADERS_MAX 32
#define HTTP_EXCHANGE_HEADER_BYTES_MAX 16384
#define HTTP_EXCHANGE_RESPONSE_BYTES_MAX (64U << 20)
/* Bodies up to this size need neither admission nor the body budget. */
#define HTTP_EXCHANGE_SMALL_BODY_BYTES 32768
#define HTTP_EXCHANGE_CONTENT_TYPE_SIZE 96

struct http_loop;

/*
 * Which thread may touch an exchange. A suspended connection costs two calls of epoll_ctl and an
 * empty recv, but the library leaves it alone, so any thread may resume it. A polled one costs
 * nothing, but only the loop may resume it.
 */
enum http_phase {
	HTTP_PHASE_RUNNING, /* the handler is at work; the connection is not suspended */
	HTTP_PHASE_POLLED,  /* not suspended: the library asks for the response in each turn of the
	                       loop */
	HTTP_PHASE_SUSPENDED, /* the connection is suspended; http_exchange_resume must wake it */
	HTTP_PHASE_RESUMED,   /* the response is complete */
	HTTP_PHASE_ABANDONED, /* the connection ended while it was polled; final */
};

struct http_response_header {
	/* A literal, as value. NULL: both were copied to header_bytes. */
	const char *name;
	union {
		const char *value;
		struct {
			uint32_t name_at, value_at;
		};
	};
};

/*
 * An exchange lives in its connection's record and is used again for each request, so a request
 * needs no allocation of ours.
 */
struct http_exchange {
	struct http_loop *loop;
	/* The library's connection. */
	void *mhd;
	struct client_ip peer;

	/* The request line has arrived. */
	bool is_begun;
	/* The guard has checked the head. */
	bool is_checked;
	/* Answered on the socket, past the library; nothing more may be sent. */
	bool is_rejected;
	/* The library has the response. */
	bool is_queued;
	/* The connection ends with this response. */
	bool closes;
	bool on_worker;
	/* The handler answers before the body, which is never read. */
	bool is_unread;
	/* Admission decides about the body. */
	bool is_asking;
	/* Its decision. */
	bool is_admitted;
	/* Counted in the loop's polled_count. */
	bool is_polled;
	/* Of this request. */
	size_t head_len;
	size_t body_bytes_max;
	_Atomic int phase;
	int64_t arrived_steady_us, arrived_us;

	enum http_method method;
	/* The library's memory, valid until the exchange ends. */
	const char *method_name, *path;
	const char *target;
	size_t target_len;
	struct strbuf query;
	struct strbuf joined;
	struct strbuf body;
	uint64_t flow;
	/* That run the handler and the body reader. */
	struct worker_pool *workers;
	/* How often a handler has asked for a worker. */
	unsigned worker_turns;
	/* Steady time at which it began to wait for a worker. */
	int64_t queued_us;
	/* For workers, in all turns so far. */
	int64_t waited_us;
	/* Bytes reserved in the server's body budget, for body_flow. */
	size_t body_reserved;
	uint64_t body_flow;
	char request_id[HTTP_REQUEST_ID_LEN_MAX + 1];
	char traceparent[TRACE_CONTEXT_SIZE];
	char parent_span[TRACE_CONTEXT_PARENT_SIZE];

	void *state;
	void (*release)(void *state);

	unsigned status;
	struct http_response_header headers[HTTP_EXCHANGE_HEADERS_MAX];
	size_t header_count;
	struct strbuf header_bytes;
	/* A part of the response did not fit; it cannot be sent as intended. */
	bool is_broken;
	char content_type[HTTP_EXCHANGE_CONTENT_TYPE_SIZE];
	/* NULL: response_body. */
	const char *fixed_body;
	size_t fixed_body_len;
	struct strbuf response_body;
	/* NULL: the body is complete. */
	http_body_reader body_reader;
	void *body_reader_arg;
	/* The loop runs the body_reader. */
	bool is_pushed;
	/* With a body_reader: what response_body holds. */
	enum http_chunk chunk;
	size_t chunk_sent;
	/* Steady time at which the chunk began to be sent. */
	int64_t chunk_ready_us;
	/* The client's, for all chunks before. */
	int64_t taking_us;
};

void http_exchange_init(struct http_exchange *x, struct http_loop *loop, size_t body_bytes_max);
void http_exchange_clear(struct http_exchange *x);

/*
 * Starts an exchange when a request line has arrived. target: the library's raw target, which it
 * cuts at "?" later.
 */
void http_exchange_begin(struct http_exchange *x, void *mhd, const char *target);

/* Adds to the request's body. False: the server's memory for bodies is full; nothing was added. */
bool http_exchange_add_body(struct http_exchange *x, const char *bytes, size_t len);

/* Empties the request's body and returns its memory to the server. */
void http_exchange_drop_body(struct http_exchange *x);

/* Runs release and prepares x for the next request; abandons x if it is still polled. */
void http_exchange_end(struct http_exchange *x);

/* Takes x out of the loop's polled_count: the response is complete, or never will be. */
void http_exchange_stop_polling(struct http_exchange *x);

/*
 * Suspends the connection until http_exchange_resume, which may already have run or may run now in
 * another thread. The phase decides which thread wakes the connection.
 */
void http_exchange_await_resume(struct http_exchange *x);

/* Discards the response written so far. */
void http_exchange_reset_response(struct http_exchange *x);

const char *http_exchange_header_name(const struct http_exchange *x, size_t index);
const char *http_exchange_header_value(const struct http_exchange *x, size_t index);
const char *http_exchange_response_body(const struct http_exchange *x, size_t *len);

/* --- connection --- */

/* Its members have the same time limit, so appending keeps it ordered by deadline. */
struct http_connection_list {
	struct http_connection *first;
};

struct http_connection {
	struct http_connection *previous, *next;
	struct http_connection_list *list;
	/* Steady time at which it entered its list. */
	int64_t since_us;
	int fd;
	/* The peer may still be sending when this connection ends; see http_expiry_linger. */
	bool lingers;
	/* The peer has sent FIN; see http_expiry_watch. */
	_Atomic bool is_half_closed;
	/* acked_bytes belongs to the response that is being sent. */
	bool is_measured;
	/* At the last check of the reader. */
	uint64_t acked_bytes;
	/* Of an abandoned connection: the loop and the caller that must resume the exchange. */
	_Atomic int ref_count;
	struct http_exchange exchange;
};

struct http_connection *http_connection_new(struct http_loop *loop, size_t body_bytes_max);
void http_connection_free(struct http_connection *c);

struct http_connection *http_connection_of(const struct http_exchange *x);

/* Safe from any thread. Drops a reference to an abandoned connection; the last one frees it. */
void http_connection_unref(struct http_connection *c);

/* Moves c to the end of list; NULL: to no list. */
void http_connection_move(struct http_connection *c, struct http_connection_list *list,
                          int64_t now_us);

/* The oldest member of list if it entered at or before since_us, else NULL. */
struct http_connection *http_connection_oldest(const struct http_connection_list *list,
                                               int64_t since_us);

/* Shuts the socket down; the library notices and closes it. */
void http_connection_cut(struct http_connection *c);

/* Whether unread bytes have arrived. */
bool http_connection_has_input(const struct http_connection *c);

/* Bytes that the peer's system has acknowledged since the connection opened. */
uint64_t http_connection_acked_bytes(const struct http_connection *c);

/* --- loop --- */

#define HTTP_METRICS_CLASSES 6 /* by the first digit of the status */

/* All NULL if the server does not count: only one server of a program may. */
struct http_metrics {
	struct metric *responses[HTTP_METRICS_CLASSES];
	struct metric *seconds;
	struct metric *connections;
	struct metric *refused_connections;
	struct metric *evicted;
	struct metric *late;
	struct metric *queued;
	struct metric *overdue;
};

/* What all keys have of something, and what each key has. */
struct http_limit {
	pthread_mutex_t lock;
	/* Guarded by lock, like shares. */
	size_t used;
	struct http_share *shares;
};

/* What the loops of one server share. Atomic members: any thread; the others do not change. */
struct http_shared {
	struct http_server_config config;
	struct http_limit connections;
	/* Memory of all bodies. */
	struct http_limit bodies;
	/* NULL: no handler may block. */
	struct worker_pool *workers;
	/* May be NULL. */
	struct worker_pool *heavy_workers;
	struct http_metrics metrics;
	/* Each response ends its connection. */
	_Atomic bool is_lame_duck;
	_Atomic bool is_draining;
	_Atomic int64_t drain_ms;
	/* Jobs that still wait for a worker are not started. */
	_Atomic bool drain_expired;
};

#define HTTP_KEPT_HEADERS_MAX 4
#define HTTP_LINGER_MAX 64

/* Sockets whose connections have ended; see http_expiry_linger. */
struct http_linger {
	size_t count;
	int fds[HTTP_LINGER_MAX];
	/* Steady. */
	int64_t until_us[HTTP_LINGER_MAX];
};

/*
 * The response of a redirect, which the loop uses again for the next one with the same literals: to
 * make, fill and free another one takes longer than the rest of what the library does for it. The
 * library copies the headers to the connection's memory before it calls us for another request.
 */
struct http_kept_response {
	/* The library's; NULL: none yet. */
	void *response;
	struct http_response_header headers[HTTP_KEPT_HEADERS_MAX];
	size_t header_count;
	/* In the library's memory, and of fixed lengths. */
	char *date, *request_id;
	/* Of the Date: seconds of wall time. */
	int64_t date_s;
};

/*
 * A connection is always in one of five lists:
 *   receiving   accepted, or the request line has arrived; ends after header_deadline_ms
 *   idle        between requests; ends after idle_ms
 *   busy        the handler is at work, or the connection has been cut
 *   sending     a complete response is being sent; ends when a check every send_check_ms finds
 *               that the peer took less than send_bytes_min, or when the peer is gone
 *               (http_server_listen)
 *   streaming   a chunk of a body_reader is being read or sent; ends idle_ms after its request
 */
struct http_loop {
	struct http_shared *shared;
	size_t index;
	pthread_t thread;
	void *daemon;
	/* The daemon owns it until it is quiesced. */
	int listen_fd;
	int wake_fd;
	/* wake_fd has been written since the loop last read it. */
	_Atomic bool is_woken;
	/* Steady time of this turn. */
	int64_t now_us;
	/* What wall time is more than steady time, in this turn: so a request reads one clock. */
	int64_t wall_ahead_us;
	struct http_connection_list receiving, idle, busy, sending, streaming;
	/* An epoll instance; see http_expiry_watch. */
	int half_close_fd;
	/* Unused records, linked by next. */
	struct http_connection *spare;
	size_t open;
	/* Exchanges that wait without being suspended (HTTP_PENDING_ON_LOOP). */
	size_t polled_count;
	void *hook_state;
	struct http_linger linger;
	struct http_request_id_source ids;
	struct http_kept_response kept;
	/* Threads inside http_exchange_resume. */
	_Atomic unsigned resumers;
	bool is_draining;
	int64_t drain_until_us;
};

/*
 * Starts the daemon on a listening socket and the thread; the loop owns the socket from then on.
 * ERR_UNAVAILABLE: the daemon or the thread did not start (logged).
 */
enum err http_loop_start(struct http_loop *loop, struct http_shared *shared, size_t index,
                         int listen_fd) MUST_CHECK;

/* Safe from any thread. Makes the loop take a turn, because the library does not wake it. */
void http_loop_wake(struct http_loop *loop);

/* Waits until the loop has drained, and frees what it holds. */
void http_loop_join(struct http_loop *loop);

/* --- server --- */

/*
 * Binds and listens; fds receives config->loops sockets. They share the port (SO_REUSEPORT), but
 * only with each other. The kernel drops a peer that does not read for idle_ms (TCP_USER_TIMEOUT).
 * ERR_UNAVAILABLE: another socket has the port, or the address is invalid (logged).
 */
enum err http_server_listen(const struct http_server_config *config, int *fds,
                            uint16_t *port) MUST_CHECK;

/* --- limits: safe from any thread --- */

void http_limit_init(struct http_shared *shared);
void http_limit_clear(struct http_shared *shared);

enum http_limit_decision {
	HTTP_LIMIT_ALLOWED,
	HTTP_LIMIT_NEEDS_ROOM, /* all places are taken: accept it if another is evicted */
	HTTP_LIMIT_REFUSED,    /* its address has its share, or too many are being evicted */
};

/*
 * Whether one more connection from this peer stays within connections and connections_per_ip. IPv6
 * counts by /64, because one subscriber usually has a whole /64.
 */
enum http_limit_decision http_limit_decide(struct http_shared *shared,
                                           const struct client_ip *peer);
/* by: 1 for a connection that opened, -1 for one that closed. */
void http_limit_count(struct http_shared *shared, const struct client_ip *peer, int by);

/*
 * Bounds the memory of the bodies that a server holds at the same time to bodies_bytes_max: of all
 * together, and of each flow (http_exchange_set_flow), which may use a quarter. False: it would
 * pass a ceiling; nothing is reserved.
 */
bool http_limit_reserve_body(struct http_shared *shared, uint64_t flow, size_t bytes);
void http_limit_release_body(struct http_shared *shared, uint64_t flow, size_t bytes);

/* --- expiry --- */

/* Cuts connections past their deadline (every list is ordered by time), and ends lingering ones. */
void http_expiry_run(struct http_loop *loop);

/* The steady time of the first deadline; INT64_MAX: none. */
int64_t http_expiry_deadline(const struct http_loop *loop);

/*
 * Cuts a connection so that a new one gets its place: the one that has been idle longest, else the
 * slowest client. False: all are busy.
 */
bool http_expiry_evict_one(struct http_loop *loop);

/*
 * Half-closed connections: a peer that has sent FIN sends no more bytes, so a request that is still
 * incomplete never completes. The library reads a socket once for each edge of epoll. When the last
 * bytes and the FIN arrive together, it reads the bytes and never the end. So the loop watches each
 * socket for EPOLLRDHUP in an epoll instance of its own. As soon as the library has read
 * everything, the loop shuts the socket for reading. That is another edge: the library answers the
 * requests that it has, reads the end and closes the connection.
 */
void http_expiry_watch(struct http_loop *loop, struct http_connection *c);
/* Looks at c again in the next turn of the loop. */
void http_expiry_watch_again(struct http_loop *loop, struct http_connection *c);
/* After each turn of the library in which the epoll instance was readable. */
void http_expiry_end_half_closed(struct http_loop *loop);

/*
 * Lingering close, for a connection that ends now: a response that is sent before the peer has
 * finished sending is lost if the socket closes at once, because the kernel then resets the
 * connection. So a duplicate stays open for two seconds, shut for writing, and its input is
 * discarded until the peer closes too; unless HTTP_LINGER_MAX sockets linger already.
 */
void http_expiry_linger(struct http_loop *loop, struct http_connection *c);
/* Fills at most HTTP_LINGER_MAX entries for poll(2) and returns their number. */
size_t http_expiry_poll_entries(const struct http_loop *loop, struct pollfd *entries);
void http_expiry_close_lingering(struct http_loop *loop);

/* --- request --- */

/* Called after the head, each part of the body, and the body. False: close the connection. */
bool http_request_advance(struct http_connection *c, const char *url, const char *method,
                          const char *version, const char *upload, size_t *upload_len);

/*
 * Rejects a request that the library has not read completely and cannot answer: writes the error
 * response to the socket. The connection must end afterwards.
 */
void http_request_reject_on_socket(struct http_connection *c, unsigned status, const char *detail);

/* --- response --- */

/*
 * What the library gets to hold the head of a request, a record for each header, and then the head
 * of the response. It zeroes half of it before each response and all of it after, which a redirect
 * feels. So it has no room for both heads at their longest.
 */
size_t http_response_memory(const struct http_server_config *config);

/* False: the library may lack the memory for the head of the response; http_response_send_raw. */
bool http_response_fits(const struct http_exchange *x);

/* Hands the response to the library. ERR_INTERNAL: broken or rejected; nothing was queued. */
enum err http_response_queue(struct http_exchange *x) MUST_CHECK;

/* Frees the loop's kept response. */
void http_response_drop_kept(struct http_loop *loop);

/*
 * Writes as much of the response to the socket as it takes at once, past the library. The
 * connection must end then.
 */
void http_response_send_raw(struct http_exchange *x, int fd);

#endif
