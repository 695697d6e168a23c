#include "lib/net/http_request.h"

#include <microhttpd.h>
#include <string.h>

#include "lib/net/http_answer.h"
#include "lib/net/http_guard.h"
#include "lib/net/http_loop.h"

static const struct http_server_config *config_of(const struct http_exchange *x)
{
	return &x->loop->service->config;
}

static void write_refusal(struct http_exchange *x, unsigned status, const char *detail)
{
	http_exchange_reset_answer(x);
	x->status = status;
	if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
		http_exchange_add_fixed_header(x, "Retry-After", "1");
	config_of(x)->refusal(config_of(x)->ctx, x, status, detail);
}

static void tell(struct http_exchange *x)
{
	const struct http_server_config *config = config_of(x);
	int64_t duration_us = clock_steady_us(config->clock) - x->arrived_steady_us;
	http_metrics_answered(&x->loop->service->metrics, x->status, duration_us);
	if (config->observer != NULL)
		config->observer(config->ctx, x, x->status, duration_us);
}

static bool send_answer(struct http_exchange *x)
{
	x->closes = x->closes || x->loop->draining ||
	            atomic_load_explicit(&x->loop->service->is_leaving, memory_order_relaxed);
	if (http_answer_queue(x) != OK) {
		log_error(config_of(x)->log, "http_answer_failed", LOG_INT("status", x->status),
		          LOG_TEXT("request_id", x->request_id));
		write_refusal(x, MHD_HTTP_INTERNAL_SERVER_ERROR, "The answer could not be sent.");
		if (http_answer_queue(x) != OK)
			return false;
	}
	tell(x);
	return true;
}

/* Refuses a request that has not been read to its end: the connection cannot go on. */
static bool refuse_unread(struct http_connection *c, unsigned status, const char *detail)
{
	struct http_exchange *x = &c->exchange;
	x->closes = true;
	c->lingers = true;
	write_refusal(x, status, detail);
	return send_answer(x);
}

static enum http_method method_of(const char *name)
{
	static const struct {
		const char *name;
		enum http_method method;
	} known[] = {
		{ "GET", HTTP_GET },     { "HEAD", HTTP_HEAD },     { "POST", HTTP_POST },       { "PUT", HTTP_PUT },
		{ "PATCH", HTTP_PATCH }, { "DELETE", HTTP_DELETE }, { "OPTIONS", HTTP_OPTIONS },
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(name, known[i].name) == 0)
			return known[i].method;
	return HTTP_OTHER;
}

static void name_request(struct http_exchange *x, const char *given)
{
	if (given != NULL && http_request_id_is_valid(given))
		memcpy(x->request_id, given, strlen(given) + 1);
	else
		http_request_id_next(&x->loop->ids, x->request_id);
}

/* Anybody else could write lines into our logs, and into other people's traces. */
static void join_trace(struct http_exchange *x, const char *given)
{
	if (given != NULL && config_of(x)->trusted != NULL && client_ip_ranges_contain(config_of(x)->trusted, &x->peer))
		(void)trace_context_read(given, x->traceparent);
}

static size_t head_len_of(void *mhd)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
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
	return is_meaningless && max > HTTP_GUARD_MEANINGLESS_BODY_MAX ? HTTP_GUARD_MEANINGLESS_BODY_MAX : max;
}

/* The head has arrived. */
static bool begin(struct http_connection *c, const char *url, const char *method, const char *version)
{
	struct http_exchange *x = &c->exchange;
	x->checked = true;
	x->method_name = method;
	x->method = method_of(method);
	struct http_guard_head head = {
		.method = method,
		.target = url,
		.version = version,
		.target_len = x->target_len,
		.query = x->query.data,
		.head_len = head_len_of(x->mhd),
		.head_bytes_max = config_of(x)->head_bytes_max,
	};
	struct http_guard_verdict verdict = http_guard_check(x->mhd, &head);
	name_request(x, verdict.status == 0 ? verdict.request_id : http_exchange_header(x, "X-Request-Id"));
	if (verdict.status != 0)
		return refuse_unread(c, verdict.status, verdict.detail);
	join_trace(x, verdict.traceparent);
	if (!http_exchange_set_path(x, url))
		return refuse_unread(c, MHD_HTTP_BAD_REQUEST, "The request's target is not a path.");
	if (verdict.is_chunked && config_of(x)->needs_length)
		return refuse_unread(c, MHD_HTTP_LENGTH_REQUIRED, "The request's body has no Content-Length.");
	x->body_bytes_max = body_bytes_max(x);
	if (verdict.content_length > x->body_bytes_max)
		return refuse_unread(c, MHD_HTTP_CONTENT_TOO_LARGE, "The request's body is too large.");
	return true;
}

void http_request_refuse_on_socket(struct http_connection *c, unsigned status, const char *detail)
{
	struct http_exchange *x = &c->exchange;
	if (x->request_id[0] == '\0')
		name_request(x, http_exchange_header(x, "X-Request-Id"));
	x->refused = true;
	c->lingers = true;
	write_refusal(x, status, detail);
	http_answer_send_raw(x, c->fd);
	tell(x);
}

/*
 * While a body arrives the library cannot queue an answer. One that grows too large (only a chunked one can), or for
 * which there is no memory left, is answered on the socket, past the library.
 */
static bool take_body(struct http_connection *c, const char *upload, size_t *upload_len)
{
	struct http_exchange *x = &c->exchange;
	bool fits = *upload_len <= x->body_bytes_max - x->body.len;
	bool is_taken = fits && http_exchange_add_body(x, upload, *upload_len);
	*upload_len = 0;
	if (is_taken)
		return true;
	http_exchange_drop_body(x);
	if (fits)
		http_request_refuse_on_socket(c, MHD_HTTP_SERVICE_UNAVAILABLE,
		                              "Too many large bodies are being received.");
	else
		http_request_refuse_on_socket(c, MHD_HTTP_CONTENT_TOO_LARGE, "The request's body is too large.");
	return false;
}

/*
 * Suspends the connection until http_exchange_resume, which may have come already or come right now from another
 * thread: phase decides who wakes it. From here on x belongs to whoever completes it.
 */
static bool park(struct http_exchange *x)
{
	if (atomic_load(&x->phase) == HTTP_PHASE_RESUMED)
		return send_answer(x);
	struct http_loop *loop = x->loop;
	void *mhd = x->mhd;
	MHD_suspend_connection(mhd);
	int running = HTTP_PHASE_RUNNING;
	if (!atomic_compare_exchange_strong(&x->phase, &running, HTTP_PHASE_PARKED)) {
		MHD_resume_connection(mhd);
		http_loop_wake(loop);
	}
	return true;
}

/*
 * As park, for whom this very thread will resume: the library asks for the answer again in each turn until it is there.
 */
static bool stay_in_line(struct http_exchange *x)
{
	if (atomic_load_explicit(&x->phase, memory_order_relaxed) == HTTP_PHASE_RESUMED)
		return send_answer(x);
	atomic_store_explicit(&x->phase, HTTP_PHASE_IN_LINE, memory_order_relaxed);
	x->in_line = true;
	x->loop->in_line++;
	return true;
}

static void run_on_worker(void *arg)
{
	struct http_exchange *x = arg;
	const struct http_server_config *config = config_of(x);
	x->on_worker = true;
	enum http_progress progress = HTTP_ANSWERED;
	if (atomic_load(&x->loop->service->given_up))
		write_refusal(x, MHD_HTTP_SERVICE_UNAVAILABLE, "The server is shutting down.");
	else
		progress = config->handler(config->ctx, x);
	if (progress == HTTP_PENDING)
		return;
	if (progress != HTTP_ANSWERED) {
		log_error(config->log, "http_handler_blocks_twice", LOG_TEXT("request_id", x->request_id));
		write_refusal(x, MHD_HTTP_INTERNAL_SERVER_ERROR, "The request could not be handled.");
	}
	http_exchange_resume(x);
}

static bool hand_to_worker(struct http_exchange *x)
{
	struct worker_pool *workers = x->loop->service->workers;
	if (workers == NULL) {
		log_error(config_of(x)->log, "http_handler_blocks_without_workers");
		write_refusal(x, MHD_HTTP_INTERNAL_SERVER_ERROR, "The request could not be handled.");
		return send_answer(x);
	}
	if (worker_pool_submit(workers, run_on_worker, x) == OK)
		return park(x);
	write_refusal(x, MHD_HTTP_SERVICE_UNAVAILABLE, "Too many requests are waiting.");
	return send_answer(x);
}

/* The request is complete: runs the handler, or takes up the answer of the one that has waited. */
static bool answer(struct http_connection *c)
{
	struct http_exchange *x = &c->exchange;
	if (x->queued)
		return true;
	int phase = atomic_load(&x->phase);
	if (phase == HTTP_PHASE_IN_LINE)
		return true;
	if (phase == HTTP_PHASE_RESUMED) {
		http_exchange_step_out(x);
		return send_answer(x);
	}
	http_connection_move(c, &x->loop->busy, x->arrived_steady_us);
	switch (config_of(x)->handler(config_of(x)->ctx, x)) {
	case HTTP_BLOCKS:
		return hand_to_worker(x);
	case HTTP_PENDING:
		return park(x);
	case HTTP_PENDING_HERE:
		return stay_in_line(x);
	case HTTP_ANSWERED:
		break;
	}
	return send_answer(x);
}

bool http_request_advance(struct http_connection *c, const char *url, const char *method, const char *version,
                          const char *upload, size_t *upload_len)
{
	if (c->exchange.refused)
		return false;
	if (!c->exchange.checked)
		return begin(c, url, method, version);
	if (*upload_len > 0)
		return take_body(c, upload, upload_len);
	return answer(c);
}
