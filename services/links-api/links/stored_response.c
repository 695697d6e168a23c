#include "services/links-api/links/stored_response.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/number.h"
#include "services/links-api/http/response.h"

/* Serialized form: three lines (status, Location, ETag), then the body. */
#define LINES 3
#define HEAD_MAX (STORED_RESPONSE_LOCATION_SIZE + ETAG_SIZE + 16)

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

void stored_response_pack(const struct stored_response *response, struct strbuf *out)
{
	strbuf_init(out, HEAD_MAX + response->body.len);
	strbuf_add_format(out, "%u\n%s\n%s\n", response->status, response->location,
	                  response->etag);
	strbuf_add(out, response->body.data, response->body.len);
}

/* Copies the line at *at and moves *at past it. */
static enum err read_line(const char **at, const char *end, char *out, size_t size)
{
	const char *newline = memchr(*at, '\n', (size_t)(end - *at));
	if (!newline || (size_t)(newline - *at) >= size)
		return ERR_INVALID;
	memcpy(out, *at, (size_t)(newline - *at));
	out[newline - *at] = '\0';
	*at = newline + 1;
	return OK;
}

enum err stored_response_unpack(const void *bytes, size_t len, struct stored_response *response)
{
	const char *at = bytes;
	const char *end = at + len;
	char lines[LINES][STORED_RESPONSE_LOCATION_SIZE];
	const size_t sizes[LINES] = { 4, STORED_RESPONSE_LOCATION_SIZE, ETAG_SIZE };
	int64_t status = 0;
	enum err err = OK;
	for (size_t i = 0; err == OK && i < LINES; i++)
		err = read_line(&at, end, lines[i], sizes[i]);
	if (err == OK)
		err = number_parse(lines[0], 200, 599, &status);
	if (err != OK || end - at > STORED_RESPONSE_BODY_MAX)
		return ERR_INVALID;
	response->status = (unsigned)status;
	snprintf(response->location, sizeof(response->location), "%s", lines[1]);
	snprintf(response->etag, sizeof(response->etag), "%.*s", ETAG_SIZE - 1, lines[2]);
	strbuf_reset(&response->body);
	strbuf_add(&response->body, at, (size_t)(end - at));
	return OK;
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
