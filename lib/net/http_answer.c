#include "lib/net/http_answer.h"

#include <microhttpd.h>
#include <sys/socket.h>

#include "lib/base/strbuf.h"
#include "lib/net/http_exchange.h"
#include "lib/net/http_problem.h"
#include "lib/net/http_stream.h"

static bool add_headers(const struct http_exchange *x, struct MHD_Response *response)
{
	bool added = MHD_add_response_header(response, "X-Request-Id", x->request_id) == MHD_YES;
	if (x->content_type[0] != '\0')
		added = MHD_add_response_header(response, "Content-Type", x->content_type) == MHD_YES && added;
	if (x->closes)
		added = MHD_add_response_header(response, "Connection", "close") == MHD_YES && added;
	for (size_t i = 0; i < x->header_count && added; i++)
		added = MHD_add_response_header(response, http_exchange_header_name(x, i),
		                                http_exchange_header_value(x, i)) == MHD_YES;
	return added;
}

static struct MHD_Response *new_response(struct http_exchange *x)
{
	size_t len;
	const char *body = http_exchange_answer_body(x, &len);
	/* The library only reads from a persistent body; x keeps it until the exchange has ended. */
	return MHD_create_response_from_buffer(len, (void *)(uintptr_t)body, MHD_RESPMEM_PERSISTENT);
}

enum err http_answer_queue(struct http_exchange *x)
{
	if (x->broken)
		return ERR_INTERNAL;
	struct MHD_Response *response = x->source != NULL ? http_stream_response(x) : new_response(x);
	if (response == NULL)
		return ERR_INTERNAL;
	bool queued = add_headers(x, response) && MHD_queue_response(x->mhd, x->status, response) == MHD_YES;
	MHD_destroy_response(response);
	x->queued = queued;
	return queued ? OK : ERR_INTERNAL;
}

void http_answer_send_raw(struct http_exchange *x, int fd)
{
	size_t len;
	const char *body = http_exchange_answer_body(x, &len);
	struct strbuf out;
	strbuf_init(&out, 2 * HTTP_EXCHANGE_HEADER_BYTES_MAX);
	strbuf_add_format(&out, "HTTP/1.1 %u %s\r\nConnection: close\r\nX-Request-Id: %s\r\nContent-Length: %zu\r\n",
	                  x->status, http_problem_title(x->status), x->request_id, len);
	if (x->content_type[0] != '\0')
		strbuf_add_format(&out, "Content-Type: %s\r\n", x->content_type);
	for (size_t i = 0; i < x->header_count; i++)
		strbuf_add_format(&out, "%s: %s\r\n", http_exchange_header_name(x, i),
		                  http_exchange_header_value(x, i));
	strbuf_add_text(&out, "\r\n");
	if (x->method != HTTP_HEAD)
		strbuf_add(&out, body, len);
	if (strbuf_status(&out) == OK && send(fd, out.data, out.len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		x->broken = true; /* the peer is gone: nothing is left to tell it */
	strbuf_clear(&out);
}
