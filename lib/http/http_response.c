#include <microhttpd.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "lib/http/http_guard.h"
#include "lib/http/http_internal.h"

/* What the library copies at a time when it cannot send chunks (HTTP/1.0). */
#define BLOCK_BYTES 16384
#define DATE_SIZE sizeof("Thu, 01 Jan 1970 00:00:00 GMT")

static void read_chunk(void *arg)
{
	struct http_exchange *x = arg;
	strbuf_reset(&x->response_body);
	x->chunk_sent = 0;
	x->chunk = HTTP_CHUNK_FAILED;
	if (!atomic_load(&x->loop->shared->drain_expired))
		x->chunk = x->body_reader(x->body_reader_arg, &x->response_body);
	if (strbuf_status(&x->response_body) != OK)
		x->chunk = HTTP_CHUNK_FAILED;
	x->chunk_ready_us = clock_steady_us(x->loop->shared->config.clock);
	http_exchange_resume(x);
}

/*
 * Runs a push reader here. The phase says that it is running before the reader lets another thread
 * know of x, which may resume x at once.
 */
static void push_chunk(struct http_exchange *x)
{
	atomic_store(&x->phase, HTTP_PHASE_RUNNING);
	strbuf_reset(&x->response_body);
	x->chunk_sent = 0;
	x->chunk = x->body_reader(x->body_reader_arg, &x->response_body);
	if (strbuf_status(&x->response_body) != OK)
		x->chunk = HTTP_CHUNK_FAILED;
}

/*
 * Submits read_chunk to a worker and suspends the connection. If the worker queue is full, x is
 * polled instead, so the library asks again soon. The worker may finish before the connection is
 * suspended; then this thread resumes it.
 */
static void request_chunk(struct http_exchange *x)
{
	atomic_store(&x->phase, HTTP_PHASE_RUNNING);
	if (worker_pool_submit_for(x->workers, x->flow, read_chunk, NULL, x) != OK) {
		x->loop->polled_count += !x->is_polled;
		x->is_polled = true;
		return;
	}
	http_exchange_stop_polling(x);
	http_exchange_await_resume(x);
}

static size_t copy_chunk(struct http_exchange *x, char *out, size_t room)
{
	size_t left = x->response_body.len - x->chunk_sent;
	size_t len = left < room ? left : room;
	memcpy(out, x->response_body.data + x->chunk_sent, len);
	x->chunk_sent += len;
	return len;
}

/* The library's callback. 0: no bytes yet; the connection is suspended or polled. */
static ssize_t read_body(void *arg, uint64_t position, char *out, size_t room)
{
	(void)position;
	struct http_exchange *x = arg;
	if (x->is_pushed && x->chunk == HTTP_CHUNK_MORE && x->chunk_sent == x->response_body.len)
		push_chunk(x);
	if (x->chunk == HTTP_CHUNK_FAILED)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (x->chunk_sent < x->response_body.len)
		return (ssize_t)copy_chunk(x, out, room);
	if (x->chunk == HTTP_CHUNK_LAST)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (!x->is_polled) {
		http_connection_move(http_connection_of(x), &x->loop->streaming, x->loop->now_us);
		x->taking_us += clock_steady_us(x->loop->shared->config.clock) - x->chunk_ready_us;
	}
	if (x->is_pushed)
		http_exchange_await_resume(x);
	else
		request_chunk(x);
	return 0;
}

/* NULL: the server has no workers to run the body reader. */
static struct MHD_Response *new_streamed_response(struct http_exchange *x)
{
	if (x->loop->shared->workers == NULL && !x->is_pushed)
		return NULL;
	http_connection_move(http_connection_of(x), &x->loop->streaming, x->loop->now_us);
	return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_body, x, NULL);
}

static struct MHD_Response *new_complete_response(struct http_exchange *x)
{
	size_t len;
	const char *body = http_exchange_response_body(x, &len);
	/* The library only reads from a persistent body; x keeps it until the exchange ends. */
	return MHD_create_response_from_buffer(len, (void *)(uintptr_t)body,
	                                       MHD_RESPMEM_PERSISTENT);
}

static bool add_headers(const struct http_exchange *x, struct MHD_Response *response)
{
	bool added = MHD_add_response_header(response, "X-Request-Id", x->request_id) == MHD_YES;
	if (x->content_type[0] != '\0')
		added = MHD_add_response_header(response, "Content-Type", x->content_type) ==
		                MHD_YES &&
		        added;
	if (x->closes)
		added = MHD_add_response_header(response, "Connection", "close") == MHD_YES &&
		        added;
	for (size_t i = 0; i < x->header_count && added; i++)
		added = MHD_add_response_header(response, http_exchange_header_name(x, i),
		                                http_exchange_header_value(x, i)) == MHD_YES;
	return added;
}

/* Of a header in the library's memory: 56, aligned. */
#define RECORD_BYTES 64
/* Our own, its cookie and a copy of that (http_guard_skip_parsing), and one to spare. */
#define RECORDS_MAX (HTTP_GUARD_HEADERS_MAX + 4)
/* Status line, Date, Content-Length, Connection, X-Request-Id. */
#define OWN_LINES_BYTES 320

size_t http_response_memory(const struct http_server_config *config)
{
	return config->head_bytes_max + RECORD_BYTES * RECORDS_MAX;
}

/* Requests that the client has sent already may fill the half that the library reads into. */
bool http_response_fits(const struct http_exchange *x)
{
	const size_t memory = http_response_memory(&x->loop->shared->config);
	if (x->body_reader != NULL ||
	    (x->head_len <= memory / 8 && x->header_bytes.len <= memory / 8))
		return true;
	int records = MHD_get_connection_values(x->mhd, MHD_HEADER_KIND, NULL, NULL);
	size_t used = x->head_len > memory / 2 ? x->head_len : memory / 2;
	used += RECORD_BYTES * (size_t)(records + 2) + OWN_LINES_BYTES + strlen(x->content_type);
	for (size_t i = 0; i < x->header_count; i++)
		used += strlen(http_exchange_header_name(x, i)) +
		        strlen(http_exchange_header_value(x, i)) + sizeof(": \r\n");
	return used <= memory;
}

/* --- the kept response --- */

/* The target of a redirect whose other headers are literals. NULL: any other response. */
static const char *target_of(const struct http_exchange *x)
{
	const char *target = NULL;
	size_t len, literals = 0;
	(void)http_exchange_response_body(x, &len);
	if (x->body_reader != NULL || len > 0 || x->content_type[0] != '\0' || x->closes ||
	    x->header_count > HTTP_KEPT_HEADERS_MAX || strlen(x->request_id) != HTTP_REQUEST_ID_LEN)
		return NULL;
	for (size_t i = 0; i < x->header_count; i++) {
		literals += x->headers[i].name != NULL;
		if (strcmp(http_exchange_header_name(x, i), "Location") == 0)
			target = http_exchange_header_value(x, i);
	}
	return literals + 1 == x->header_count ? target : NULL;
}

static void write_date(const struct http_kept_response *kept)
{
	char text[DATE_SIZE];
	struct tm tm;
	time_t seconds = kept->date_s;
	gmtime_r(&seconds, &tm);
	if (strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm) == DATE_SIZE - 1)
		memcpy(kept->date, text, DATE_SIZE - 1);
}

/* The value in the library's memory, which the caller overwrites by others of the same length. */
static char *add_in_place(struct MHD_Response *response, const char *name, const char *value)
{
	if (MHD_add_response_header(response, name, value) != MHD_YES)
		return NULL;
	return (char *)(uintptr_t)MHD_get_response_header(response, name);
}

void http_response_drop_kept(struct http_loop *loop)
{
	if (loop->kept.response != NULL)
		MHD_destroy_response(loop->kept.response);
	loop->kept = (struct http_kept_response){ 0 };
}

static bool keep_another(struct http_exchange *x)
{
	struct http_kept_response *kept = &x->loop->kept;
	http_response_drop_kept(x->loop);
	kept->response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	kept->header_count = x->header_count;
	memcpy(kept->headers, x->headers, x->header_count * sizeof(*x->headers));
	kept->date = add_in_place(kept->response, "Date", "Thu, 01 Jan 1970 00:00:00 GMT");
	kept->request_id = add_in_place(kept->response, "X-Request-Id", x->request_id);
	bool is_added = kept->date != NULL && kept->request_id != NULL;
	for (size_t i = 0; i < x->header_count && is_added; i++)
		is_added = x->headers[i].name == NULL ||
		           MHD_add_response_header(kept->response, x->headers[i].name,
		                                   x->headers[i].value) == MHD_YES;
	return is_added;
}

/* Headers that were copied lie at the same offsets, because there is only one. */
static bool queue_kept(struct http_exchange *x, const char *target)
{
	struct http_kept_response *kept = &x->loop->kept;
	bool is_like =
		kept->response != NULL && kept->header_count == x->header_count &&
		memcmp(kept->headers, x->headers, x->header_count * sizeof(*x->headers)) == 0;
	if (!is_like && !keep_another(x))
		return false;
	int64_t date_s = x->arrived_us / CLOCK_US_PER_S;
	if (kept->date_s != date_s) {
		kept->date_s = date_s;
		write_date(kept);
	}
	memcpy(kept->request_id, x->request_id, HTTP_REQUEST_ID_LEN);
	const char *old = MHD_get_response_header(kept->response, "Location");
	if (old != NULL)
		(void)MHD_del_response_header(kept->response, "Location", old);
	return MHD_add_response_header(kept->response, "Location", target) == MHD_YES &&
	       MHD_queue_response(x->mhd, x->status, kept->response) == MHD_YES;
}

enum err http_response_queue(struct http_exchange *x)
{
	if (x->is_broken)
		return ERR_INTERNAL;
	const char *target = target_of(x);
	if (target != NULL) {
		x->is_queued = queue_kept(x, target);
		if (!x->is_queued)
			http_response_drop_kept(x->loop);
		return x->is_queued ? OK : ERR_INTERNAL;
	}
	struct MHD_Response *response =
		x->body_reader != NULL ? new_streamed_response(x) : new_complete_response(x);
	if (response == NULL)
		return ERR_INTERNAL;
	x->is_queued = add_headers(x, response) &&
	               MHD_queue_response(x->mhd, x->status, response) == MHD_YES;
	MHD_destroy_response(response);
	return x->is_queued ? OK : ERR_INTERNAL;
}

void http_response_send_raw(struct http_exchange *x, int fd)
{
	size_t len;
	const char *body = http_exchange_response_body(x, &len);
	struct strbuf out;
	strbuf_init(&out, 2 * HTTP_EXCHANGE_HEADER_BYTES_MAX);
	strbuf_add_format(
		&out,
		"HTTP/1.1 %u %s\r\nConnection: close\r\nX-Request-Id: %s\r\nContent-Length: %zu\r\n",
		x->status, MHD_get_reason_phrase_for(x->status), x->request_id, len);
	if (x->content_type[0] != '\0')
		strbuf_add_format(&out, "Content-Type: %s\r\n", x->content_type);
	for (size_t i = 0; i < x->header_count; i++)
		strbuf_add_format(&out, "%s: %s\r\n", http_exchange_header_name(x, i),
		                  http_exchange_header_value(x, i));
	strbuf_add_text(&out, "\r\n");
	if (x->method != HTTP_HEAD)
		strbuf_add(&out, body, len);
	if (strbuf_status(&out) == OK &&
	    send(fd, out.data, out.len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		x->is_broken = true; /* the peer is gone */
	strbuf_clear(&out);
}
