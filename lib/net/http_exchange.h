/*
 * One thread at a time. Private to the http_* files: what is inside an exchange, and how it is begun, answered and
 * ended. An exchange lives in its connection's record and is used again for each request, so that a request costs no
 * allocation of ours.
 */
#ifndef WAYMARK_LIB_NET_HTTP_EXCHANGE_H
#define WAYMARK_LIB_NET_HTTP_EXCHANGE_H

#include <stdatomic.h>

#include "lib/base/strbuf.h"
#include "lib/base/trace_context.h"
#include "lib/net/http_server.h"

#define HTTP_EXCHANGE_HEADERS_MAX 32
#define HTTP_EXCHANGE_HEADER_BYTES_MAX 16384
#define HTTP_EXCHANGE_ANSWER_BYTES_MAX (64U << 20)
#define HTTP_EXCHANGE_ID_SIZE 65
#define HTTP_EXCHANGE_CONTENT_TYPE_SIZE 96

struct http_loop;

/*
 * Who has the last word on an exchange; see park and stay_in_line in http_request.c. A suspended connection costs two
 * calls of epoll_ctl and a vain recv, but the library leaves it alone, so that any thread may resume it.
 */
enum http_phase {
	HTTP_PHASE_RUNNING,   /* the handler has not given its last word, and the connection is not suspended */
	HTTP_PHASE_IN_LINE,   /* not suspended: the loop's own thread resumes, and the library asks again each turn */
	HTTP_PHASE_PARKED,    /* the connection is suspended: whoever resumes must wake it */
	HTTP_PHASE_RESUMED,   /* the answer is complete */
	HTTP_PHASE_ABANDONED, /* the connection ended in line: for good */
};

/* A header of the answer: literals of ours, or places in header_bytes. */
struct http_answer_header {
	const char *fixed_name, *fixed_value;
	size_t name_at, value_at;
};

struct http_exchange {
	struct http_loop *loop;
	void *mhd; /* the library's connection */
	struct client_ip peer;

	bool begun;   /* the request line has arrived */
	bool checked; /* the guard has seen it */
	bool refused; /* answered past the library: nothing more may come of it */
	bool queued;  /* the answer is on its way */
	bool closes;  /* the connection ends with this answer */
	bool on_worker;
	size_t body_bytes_max; /* of this request */
	bool too_big;          /* the body passed its limit; the rest is thrown away */
	bool in_line;          /* counted in the loop's in_line */
	_Atomic int phase;
	int64_t arrived_steady_us, arrived_us;

	enum http_method method;
	const char *method_name, *path; /* the library's memory, until the end of the exchange */
	const char *target;
	size_t target_len;
	struct strbuf query;
	struct strbuf joined;
	struct strbuf body;
	size_t body_taken; /* of the server's budget for bodies */
	char request_id[HTTP_EXCHANGE_ID_SIZE];
	char traceparent[TRACE_CONTEXT_SIZE];

	void *state;
	void (*release)(void *state);

	unsigned status;
	struct http_answer_header headers[HTTP_EXCHANGE_HEADERS_MAX];
	size_t header_count;
	struct strbuf header_bytes;
	bool broken; /* the answer cannot be sent as it was meant */
	char content_type[HTTP_EXCHANGE_CONTENT_TYPE_SIZE];
	const char *fixed_body; /* NULL: answer_body */
	size_t fixed_body_len;
	struct strbuf answer_body;
	http_source source; /* NULL: the body is complete */
	void *source_arg;
	enum http_piece piece; /* what answer_body holds of a body with a source */
	size_t piece_sent;
};

void http_exchange_init(struct http_exchange *x, struct http_loop *loop, size_t body_bytes_max);
void http_exchange_clear(struct http_exchange *x);

/* A request line has arrived: target is the library's copy of the raw target, about to be cut at its "?". */
void http_exchange_begin(struct http_exchange *x, void *mhd, const char *target, const struct clock *clock);

/* Adds to the request's body. False: too many others have large ones; nothing was added. */
bool http_exchange_add_body(struct http_exchange *x, const char *bytes, size_t len);
/* Nobody will ask for the body (any more): its memory is there for others. */
void http_exchange_drop_body(struct http_exchange *x);

/* Runs release and makes x ready for the next request; one that is in line is abandoned instead. */
void http_exchange_end(struct http_exchange *x);

/* Leaves the line, if x is in it: its answer is complete, or never will be. */
void http_exchange_step_out(struct http_exchange *x);

/* Throws the answer away that was written so far. */
void http_exchange_reset_answer(struct http_exchange *x);

const char *http_exchange_header_name(const struct http_exchange *x, size_t index);
const char *http_exchange_header_value(const struct http_exchange *x, size_t index);
const char *http_exchange_answer_body(const struct http_exchange *x, size_t *len);

/* Makes path absolute ("/…") out of an absolute-form target, too. False: it has no path that we could serve. */
bool http_exchange_set_path(struct http_exchange *x, const char *url);

#endif
