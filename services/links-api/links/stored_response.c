#include "services/links-api/links/stored_response.h"

#include "services/links-api/http/response.h"

void stored_response_init(struct stored_response *response)
{
	*response = (struct stored_response){ 0 };
	strbuf_init(&response->body, STORED_RESPONSE_BODY_MAX);
}

void stored_response_clear(struct stored_response *response)
{
	strbuf_clear(&response->body);
}

enum err stored_response_set(struct stored_response *response, unsigned status, struct json *body)
{
	response->status = status;
	strbuf_reset(&response->body);
	json_write(body, &response->body);
	json_free(body);
	return strbuf_status(&response->body);
}

enum http_progress stored_response_send(struct request *r, const struct stored_response *response)
{
	struct http_exchange *x = r->exchange;
	if ((*response->location &&
	     http_exchange_add_header(x, "Location", response->location) != OK) ||
	    (*response->etag && http_exchange_add_header(x, "ETag", response->etag) != OK))
		return response_failure(r, ERR_INTERNAL);
	http_exchange_set_status(x, response->status);
	http_exchange_set_body(x, "application/json", response->body.data, response->body.len);
	return HTTP_COMPLETE;
}
