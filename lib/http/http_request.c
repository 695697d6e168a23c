#include <microhttpd.h>
#include <string.h>

#include "lib/base/digest.h"
#include "lib/base/entropy.h"
#include "lib/http/http_guard.h"
#include "lib/http/http_internal.h"
#include "lib/http/http_router.h"

/* Authorization, then the work. */
#define WORKER_TURNS_MAX 2
#define QUEUE_FULL "Too many requests are waiting. Try again later."

static const struct http_server_config *config_of(const struct http_exchange *x)
{
	return &x->loop->shared->config;
}

/* Replaces what was written of the response by the service's error response. */
static void write_error_response(struct http_exchange *x, unsigned status, const char *detail)
{
	http_exchange_reset_response(x);
	x->status = status;
	if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
		http_exchange_add_fixed_header(x, "Retry-After", "1");
	config_of(x)->error_response(config_of(x)->ctx, x, status, detail);
}

static void count_response(const struct http_metrics *m, unsigned status, int64_t duration_us)
{
	unsigned class = status / 100;
	metrics_add(class < HTTP_METRICS_CLASSES ? m->responses[class] : NULL, 1);
	metrics_observe(m->seconds, (double)duration_us / (double)CLOCK_US_PER_S);
}

static void report_response(struct http_exchange *x)
{
	const struct http_server_config *config = config_of(x);
	int64_t duration_us = clock_steady_us(config->clock) - x->arrived_steady_us;
	count_response(&x->loop->shared->metrics, x->status, duration_us);
	if (config->observer != NULL)
		config->observer(config->ctx, x, x->status, duration_us);
}

static void start_sending(struct http_connection *c)
{
	struct http_loop *loop = c->exchange.loop;
	c->is_measured = false;
	http_connection_move(c, &loop->sending, loop->now_us);
}

/* Past the library. The connection ends. */
static bool send_on_socket(struct http_exchange *x)
{
	struct http_connection *c = http_connection_of(x);
	x->is_rejected = true;
	c->lingers = true;
	http_response_send_raw(x, c->fd);
	report_response(x);
	return false;
}

static bool send_response(struct http_exchange *x)
{
	if (!http_response_fits(x))
		return send_on_socket(x);
	x->closes = x->closes || x->loop->is_draining ||
	            atomic_load_explicit(&x->loop->shared->is_lame_duck, memory_order_relaxed);
	if (x->body_reader == NULL)
		start_sending(http_connection_of(x));
	if (http_response_queue(x) != OK) {
		log_error(config_of(x)->log, "http_response_failed", LOG_INT("status", x->status),
		          LOG_TEXT("request_id", x->request_id));
		write_error_response(x, MHD_HTTP_INTERNAL_SERVER_ERROR,
		                     "The response could not be sent.");
		if (http_response_queue(x) != OK)
			return false;
	}
	report_response(x);
	return true;
}

/* Rejects a request whose body is unread: its next request cannot be found, so close. */
#define TOO_LARGE_SIZE 128

static const char *too_large(const struct http_exchange *x, char out[static TOO_LARGE_SIZE])
{
	snprintf(out, TOO_LARGE_SIZE,
	         "The request's body is too large. It may have at most %zu bytes.",
	         x->body_bytes_max);
	return out;
}

static bool reject_unread(struct http_connection *c, unsigned status, const char *detail)
{
	struct http_exchange *x = &c->exchange;
	x->closes = true;
	c->lingers = true;
	write_error_response(x, status, detail);
	return send_response(x);
}

static enum http_method method_of(const char *name)
{
	for (enum http_method m = HTTP_GET; m < HTTP_OTHER; m++)
		if (strcmp(name, http_router_method_name(m)) == 0)
			return m;
	return HTTP_OTHER;
}

void http_request_id_init(struct http_request_id_source *source)
{
	*source = (struct http_request_id_source){ 0 };
	entropy_fill(&source->seed, sizeof(source->seed));
	entropy_fill(&source->origin, sizeof(source->origin));
}

void http_request_id_next(struct http_request_id_source *source,
                          char out[static HTTP_REQUEST_ID_LEN + 1])
{
	const uint64_t id = entropy_mix(source->seed + source->count++);
	uint8_t bytes[HTTP_REQUEST_ID_LEN / 2];
	memcpy(bytes, &source->origin, sizeof(source->origin));
	memcpy(bytes + sizeof(source->origin), &id, sizeof(id));
	digest_hex(bytes, sizeof(bytes), out);
}

static bool is_id_character(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '.' || c == '_' || c == '-';
}

bool http_request_id_is_valid(const char *text)
{
	size_t len = 0;
	while (len <= HTTP_REQUEST_ID_LEN_MAX && is_id_character(text[len]))
		len++;
	return len > 0 && len <= HTTP_REQUEST_ID_LEN_MAX && text[len] == '\0';
}

static void set_request_id(struct http_exchange *x, const char *given)
{
	if (given != NULL && http_request_id_is_valid(given))
		memcpy(x->request_id, given, strlen(given) + 1);
	else
		http_request_id_next(&x->loop->ids, x->request_id);
}

/* Only trusted proxies may name a trace: others could write into our logs and foreign traces. */
static void join_trace(struct http_exchange *x, const char *given)
{
	if (given != NULL && config_of(x)->trusted != NULL &&
	    client_ip_ranges_contain(config_of(x)->trusted, &x->peer))
		(void)trace_context_parse(given, x->traceparent);
}

static size_t head_len_of(void *mhd)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	return info == NULL ? 0 : info->header_size;
}

static size_t body_bytes_max(struct http_exchange *x)
{
	const struct http_server_config *config = config_of(x);
	size_t max = config->body_bytes_max;
	size_t own = config->body_limit ? config->body_limit(config->ctx, x) : max;
	if (own < max)
		max = own;
	bool is_meaningless = x->method == HTTP_GET || x->method == HTTP_HEAD;
	return is_meaningless && max > HTTP_GUARD_MEANINGLESS_BODY_MAX
	               ? HTTP_GUARD_MEANINGLESS_BODY_MAX
	               : max;
}

/* Stores an absolute path ("/…"), also of an absolute-form target. False: there is no such path. */
static bool set_path(struct http_exchange *x, const char *url)
{
	size_t scheme = url[0] == '/'                          ? 0
	                : strncasecmp(url, "http://", 7) == 0  ? 7
	                : strncasecmp(url, "https://", 8) == 0 ? 8
	                                                       : 0;
	if (scheme > 0) {
		url += scheme;
		url += strcspn(url, "/");
		if (*url == '\0')
			url = "/";
	}
	x->path = url;
	return url[0] == '/';
}

/* --- admission of large bodies --- */

static void reject_waiting(void *arg)
{
	struct http_exchange *x = arg;
	write_error_response(x, MHD_HTTP_SERVICE_UNAVAILABLE, QUEUE_FULL);
	http_exchange_resume(x);
}

static enum err submit(struct http_exchange *x, struct worker_pool *workers, worker_pool_job job)
{
	x->queued_us = clock_steady_us(config_of(x)->clock);
	return worker_pool_submit_for(workers, x->flow, job, reject_waiting, x);
}

/*
 * On a worker. False: the error response is written. The client of an overdue request has probably
 * given up, and the requests behind it have a better chance.
 */
static bool may_start(struct http_exchange *x)
{
	const struct http_server_config *config = config_of(x);
	const char *reason = NULL;
	x->waited_us += clock_steady_us(config->clock) - x->queued_us;
	if (atomic_load(&x->loop->shared->drain_expired)) {
		reason = "The server is shutting down.";
	} else if (config->worker_wait_ms > 0 &&
	           x->waited_us > config->worker_wait_ms * CLOCK_US_PER_MS) {
		reason = "The request waited too long for a worker. Try again later.";
		metrics_add(x->loop->shared->metrics.overdue, 1);
	}
	if (reason != NULL)
		write_error_response(x, MHD_HTTP_SERVICE_UNAVAILABLE, reason);
	return reason == NULL;
}

static void decide_admission(void *arg)
{
	struct http_exchange *x = arg;
	if (may_start(x))
		x->is_admitted = config_of(x)->admission(config_of(x)->ctx, x);
	http_exchange_resume(x);
}

/* The connection is suspended meanwhile. Afterwards the library calls again, before the body. */
static bool ask_for_admission(struct http_connection *c)
{
	struct http_exchange *x = &c->exchange;
	x->is_asking = true;
	http_connection_move(c, &x->loop->busy, x->loop->now_us);
	if (submit(x, x->loop->shared->workers, decide_admission) != OK)
		return reject_unread(c, MHD_HTTP_SERVICE_UNAVAILABLE, QUEUE_FULL);
	http_exchange_await_resume(x);
	return true;
}

static bool end_admission(struct http_connection *c)
{
	struct http_exchange *x = &c->exchange;
	x->is_asking = false;
	atomic_store(&x->phase, HTTP_PHASE_RUNNING);
	if (x->is_admitted) {
		http_connection_move(c, &x->loop->receiving, x->loop->now_us);
		return true;
	}
	x->closes = true;
	c->lingers = true;
	return send_response(x);
}

static bool respond(struct http_connection *c);

/* Its next request cannot be found, so the connection closes. */
static bool respond_unread(struct http_connection *c)
{
	c->exchange.is_unread = true;
	c->exchange.closes = true;
	c->lingers = true;
	return respond(c);
}

static bool is_answered_unread(const struct http_exchange *x, const struct http_guard_result *head)
{
	size_t read_max = config_of(x)->body_limit ? x->body_bytes_max : 0;
	return config_of(x)->answers_unread && x->method != HTTP_GET && x->method != HTTP_HEAD &&
	       (head->is_chunked || head->content_length > read_max);
}

/* The head has arrived. */
static bool begin_request(struct http_connection *c, const char *url, const char *method,
                          const char *version)
{
	struct http_exchange *x = &c->exchange;
	x->is_checked = true;
	x->method_name = method;
	x->method = method_of(method);
	x->head_len = head_len_of(x->mhd);
	struct http_guard_head head = {
		.method = method,
		.target = url,
		.version = version,
		.target_len = x->target_len,
		.query = x->query.data,
		.head_len = x->head_len,
		.head_bytes_max = config_of(x)->head_bytes_max,
	};
	struct http_guard_result head_result = http_guard_check(x->mhd, &head);
	set_request_id(x, head_result.status == 0 ? head_result.request_id
	                                          : http_exchange_header(x, "X-Request-Id"));
	if (head_result.status != 0)
		return reject_unread(c, head_result.status, head_result.detail);
	join_trace(x, head_result.traceparent);
	if (config_of(x)->begin_span != NULL)
		config_of(x)->begin_span(config_of(x)->tracer, x->traceparent, x->parent_span);
	if (!set_path(x, url))
		return reject_unread(c, MHD_HTTP_BAD_REQUEST,
		                     "The request's target is not a path.");
	x->body_bytes_max = body_bytes_max(x);
	if (is_answered_unread(x, &head_result))
		return respond_unread(c);
	if (head_result.is_chunked && config_of(x)->needs_length)
		return reject_unread(c, MHD_HTTP_LENGTH_REQUIRED,
		                     "The request's body has no Content-Length.");
	if (head_result.content_length > x->body_bytes_max) {
		char detail[TOO_LARGE_SIZE];
		return reject_unread(c, MHD_HTTP_CONTENT_TOO_LARGE, too_large(x, detail));
	}
	bool may_be_large = x->body_bytes_max > HTTP_EXCHANGE_SMALL_BODY_BYTES &&
	                    (head_result.is_chunked ||
	                     head_result.content_length > HTTP_EXCHANGE_SMALL_BODY_BYTES);
	return may_be_large && config_of(x)->admission != NULL ? ask_for_admission(c) : true;
}

void http_request_reject_on_socket(struct http_connection *c, unsigned status, const char *detail)
{
	struct http_exchange *x = &c->exchange;
	if (x->request_id[0] == '\0')
		set_request_id(x, http_exchange_header(x, "X-Request-Id"));
	write_error_response(x, status, detail);
	(void)send_on_socket(x);
}

/*
 * The library cannot queue a response while a body arrives. So a body that grows too large (only a
 * chunked one can), or that has no memory left, is rejected on the socket.
 */
static bool receive_body(struct http_connection *c, const char *upload, size_t *upload_len)
{
	struct http_exchange *x = &c->exchange;
	char detail[TOO_LARGE_SIZE];
	bool fits = *upload_len <= x->body_bytes_max - x->body.len;
	bool is_added = fits && http_exchange_add_body(x, upload, *upload_len);
	*upload_len = 0;
	if (is_added)
		return true;
	http_exchange_drop_body(x);
	if (fits)
		http_request_reject_on_socket(
			c, MHD_HTTP_SERVICE_UNAVAILABLE,
			"The server is receiving too many large bodies. Try again later.");
	else
		http_request_reject_on_socket(c, MHD_HTTP_CONTENT_TOO_LARGE, too_large(x, detail));
	return false;
}

/* From here on x belongs to the thread that completes it. */
static bool suspend(struct http_exchange *x)
{
	if (atomic_load(&x->phase) == HTTP_PHASE_RESUMED)
		return send_response(x);
	http_exchange_await_resume(x);
	return true;
}

/*
 * For an exchange that this thread itself will resume: the library asks for the response in each
 * turn until it is complete. That saves the system calls of suspend.
 */
static bool poll_until_resumed(struct http_exchange *x)
{
	if (atomic_load_explicit(&x->phase, memory_order_relaxed) == HTTP_PHASE_RESUMED)
		return send_response(x);
	atomic_store_explicit(&x->phase, HTTP_PHASE_POLLED, memory_order_relaxed);
	x->is_polled = true;
	x->loop->polled_count++;
	return true;
}

static void run_on_worker(void *arg);

/* The pool for what a handler returned. NULL: there is none, or it keeps asking (logged). */
static struct worker_pool *workers_for(const struct http_exchange *x, enum http_progress progress)
{
	const struct http_shared *shared = x->loop->shared;
	struct worker_pool *workers = progress == HTTP_NEEDS_WORKER         ? shared->workers
	                              : progress == HTTP_NEEDS_HEAVY_WORKER ? shared->heavy_workers
	                                                                    : NULL;
	if (workers == NULL || x->worker_turns == WORKER_TURNS_MAX) {
		log_error(config_of(x)->log, "http_handler_needs_workers",
		          LOG_TEXT("request_id", x->request_id));
		return NULL;
	}
	return workers;
}

/* False: x does not wait for a worker, and the error response is written. */
static bool submit_to_worker(struct http_exchange *x, enum http_progress progress)
{
	struct worker_pool *workers = workers_for(x, progress);
	if (workers == NULL) {
		write_error_response(x, MHD_HTTP_INTERNAL_SERVER_ERROR,
		                     "The request could not be handled.");
		return false;
	}
	x->workers = workers;
	x->worker_turns++;
	if (submit(x, workers, run_on_worker) == OK)
		return true;
	write_error_response(x, MHD_HTTP_SERVICE_UNAVAILABLE, QUEUE_FULL);
	return false;
}

/* Once x waits for a worker again, it belongs to that thread. */
static void run_on_worker(void *arg)
{
	struct http_exchange *x = arg;
	const struct http_server_config *config = config_of(x);
	x->on_worker = true;
	enum http_progress progress = HTTP_COMPLETE;
	if (may_start(x))
		progress = config->handler(config->ctx, x);
	if (progress == HTTP_PENDING)
		return;
	if (progress != HTTP_COMPLETE && submit_to_worker(x, progress))
		return;
	http_exchange_resume(x);
}

/* The request is complete: runs the handler, or sends the response of one that has finished. */
static bool respond(struct http_connection *c)
{
	struct http_exchange *x = &c->exchange;
	if (x->is_queued)
		return true;
	int phase = atomic_load(&x->phase);
	if (phase == HTTP_PHASE_POLLED)
		return true;
	if (phase == HTTP_PHASE_RESUMED) {
		http_exchange_stop_polling(x);
		return send_response(x);
	}
	enum http_progress progress = config_of(x)->handler(config_of(x)->ctx, x);
	if (progress != HTTP_COMPLETE)
		http_connection_move(c, &x->loop->busy, x->arrived_steady_us);
	switch (progress) {
	case HTTP_NEEDS_WORKER:
	case HTTP_NEEDS_HEAVY_WORKER:
		return submit_to_worker(x, progress) ? suspend(x) : send_response(x);
	case HTTP_PENDING:
		return suspend(x);
	case HTTP_PENDING_ON_LOOP:
		return poll_until_resumed(x);
	case HTTP_COMPLETE:
		break;
	}
	return send_response(x);
}

bool http_request_advance(struct http_connection *c, const char *url, const char *method,
                          const char *version, const char *upload, size_t *upload_len)
{
	if (c->exchange.is_rejected)
		return false;
	if (!c->exchange.is_checked)
		return begin_request(c, url, method, version);
	if (c->exchange.is_asking)
		return end_admission(c);
	if (*upload_len > 0)
		return receive_body(c, upload, upload_len);
	return respond(c);
}
