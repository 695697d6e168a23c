#include "services/links-api/http/handlers.h"
#include "services/links-api/http/response.h"
#include "services/links-api/live/live_stream.h"

#define MEDIA_TYPE "text/event-stream"

/* OK also: the client has sent none. */
static enum err read_position(struct http_exchange *x, struct live_visits_position *out,
                              bool *has_position)
{
	const char *text = http_exchange_joined_header(x, "Last-Event-ID");
	*has_position = text != NULL;
	return *has_position ? live_visits_parse_position(text, out) : OK;
}

static enum http_progress send_full(struct request *r, enum live_stream_refusal refusal)
{
	http_exchange_add_fixed_header(r->exchange, "Retry-After", "10");
	if (refusal == LIVE_STREAM_ACCOUNT_FULL)
		return response_problem(
			r, 429, "busy",
			"Your account has too many open streams of visits. Close one of them.");
	return response_problem(r, 503, "overloaded", "Too many streams of visits are open.");
}

static enum http_progress send_stream(struct request *r, struct live_stream *stream)
{
	struct http_exchange *x = r->exchange;
	r->handler_state = stream;
	r->release_handler_state = live_stream_close;
	/* Proxies such as nginx would otherwise collect a buffer first. */
	http_exchange_add_fixed_header(x, "X-Accel-Buffering", "no");
	http_exchange_set_body(x, MEDIA_TYPE, "", 0);
	http_exchange_set_push_reader(x, live_stream_read, stream);
	return HTTP_COMPLETE;
}

enum http_progress live_handlers_get(void *ctx, struct http_exchange *x)
{
	struct request *r = ctx;
	static const char *const types[] = { MEDIA_TYPE };
	struct live_visits_position after;
	bool has_position;
	size_t chosen;
	if (response_choose_type(http_exchange_joined_header(x, "Accept"), types, 1, &chosen) != OK)
		return response_problem(
			r, 406, NULL,
			"This endpoint responds with text/event-stream, which the Accept header excludes.");
	if (read_position(x, &after, &has_position) != OK) {
		struct http_problem_fields wrong = { 0 };
		http_problem_add_field(&wrong, "/Last-Event-ID", "cursor",
		                       "must be the id of an event of this stream");
		return response_invalid_fields(r, &wrong);
	}
	struct live_stream *stream = NULL;
	const struct live_reader reader = { r->user_id, r->workspace_id, r->key_id, r->session_id };
	enum live_stream_refusal refusal = live_stream_open(r->api->live, x, &reader, r->tags,
	                                                    has_position ? &after : NULL, &stream);
	return refusal == LIVE_STREAM_OPENED ? send_stream(r, stream) : send_full(r, refusal);
}
