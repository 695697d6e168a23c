#include "lib/net/http_stream.h"

#include <microhttpd.h>
#include <string.h>

#include "lib/net/http_loop.h"

/* What the library copies at a time when it cannot send in chunks (HTTP/1.0). */
#define BLOCK_BYTES 16384

static void make_piece(void *arg)
{
	struct http_exchange *x = arg;
	strbuf_reset(&x->answer_body);
	x->piece_sent = 0;
	x->piece = HTTP_PIECE_BROKEN;
	if (!atomic_load(&x->loop->service->given_up))
		x->piece = x->source(x->source_arg, &x->answer_body);
	if (strbuf_status(&x->answer_body) != OK)
		x->piece = HTTP_PIECE_BROKEN;
	http_exchange_resume(x);
}

/*
 * Hands x to a worker. If too many jobs wait, it stays in line, so that the library asks again soon. As in park (see
 * http_request.c), phase decides who wakes the connection, should the worker be done already.
 */
static void ask_for_piece(struct http_exchange *x)
{
	struct http_loop *loop = x->loop;
	void *mhd = x->mhd;
	atomic_store(&x->phase, HTTP_PHASE_RUNNING);
	if (worker_pool_submit(loop->service->workers, make_piece, x) != OK) {
		loop->in_line += !x->in_line;
		x->in_line = true;
		return;
	}
	http_exchange_step_out(x);
	MHD_suspend_connection(mhd);
	int running = HTTP_PHASE_RUNNING;
	if (!atomic_compare_exchange_strong(&x->phase, &running, HTTP_PHASE_PARKED)) {
		MHD_resume_connection(mhd);
		http_loop_wake(loop);
	}
}

static size_t take(struct http_exchange *x, char *out, size_t room)
{
	size_t left = x->answer_body.len - x->piece_sent;
	size_t len = left < room ? left : room;
	memcpy(out, x->answer_body.data + x->piece_sent, len);
	x->piece_sent += len;
	return len;
}

/* 0: not now; the connection is suspended, or in line. */
static ssize_t read_body(void *arg, uint64_t position, char *out, size_t room)
{
	(void)position;
	struct http_exchange *x = arg;
	if (x->piece == HTTP_PIECE_BROKEN)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (x->piece_sent < x->answer_body.len)
		return (ssize_t)take(x, out, room);
	if (x->piece == HTTP_PIECE_LAST)
		return MHD_CONTENT_READER_END_OF_STREAM;
	struct http_connection *c = http_connection_of(x);
	if (!x->in_line)
		http_connection_move(c, &x->loop->streaming, x->loop->now_us);
	ask_for_piece(x);
	return 0;
}

struct MHD_Response *http_stream_response(struct http_exchange *x)
{
	if (x->loop->service->workers == NULL)
		return NULL;
	http_connection_move(http_connection_of(x), &x->loop->streaming, x->loop->now_us);
	return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_body, x, NULL);
}
