#include "services/links-api/links/kept_answer.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/number.h"
#include "services/links-api/answer.h"

/* Three lines in front of the body: status, Location, ETag. */
#define LINES 3
#define HEAD_MAX (KEPT_ANSWER_LOCATION_SIZE + ETAG_SIZE + 16)

void kept_answer_init(struct kept_answer *answer)
{
	*answer = (struct kept_answer){ 0 };
	strbuf_init(&answer->body, KEPT_ANSWER_BODY_MAX);
}

void kept_answer_clear(struct kept_answer *answer)
{
	strbuf_clear(&answer->body);
}

enum err kept_answer_set(struct kept_answer *answer, unsigned status, struct json *body)
{
	answer->status = status;
	strbuf_reset(&answer->body);
	json_write(body, &answer->body);
	json_free(body);
	return strbuf_status(&answer->body);
}

void kept_answer_pack(const struct kept_answer *answer, struct strbuf *out)
{
	strbuf_init(out, HEAD_MAX + answer->body.len);
	strbuf_add_format(out, "%u\n%s\n%s\n", answer->status, answer->location, answer->etag);
	strbuf_add(out, answer->body.data, answer->body.len);
}

/* The line at *at, copied; *at is behind it then. */
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

enum err kept_answer_unpack(const void *bytes, size_t len, struct kept_answer *answer)
{
	const char *at = bytes;
	const char *end = at + len;
	char lines[LINES][KEPT_ANSWER_LOCATION_SIZE];
	const size_t sizes[LINES] = { 4, KEPT_ANSWER_LOCATION_SIZE, ETAG_SIZE };
	int64_t status = 0;
	enum err err = OK;
	for (size_t i = 0; err == OK && i < LINES; i++)
		err = read_line(&at, end, lines[i], sizes[i]);
	if (err == OK)
		err = number_parse(lines[0], 200, 599, &status);
	if (err != OK || end - at > KEPT_ANSWER_BODY_MAX)
		return ERR_INVALID;
	answer->status = (unsigned)status;
	snprintf(answer->location, sizeof(answer->location), "%s", lines[1]);
	snprintf(answer->etag, sizeof(answer->etag), "%.*s", ETAG_SIZE - 1, lines[2]);
	strbuf_reset(&answer->body);
	strbuf_add(&answer->body, at, (size_t)(end - at));
	return OK;
}

enum http_progress kept_answer_send(struct request *r, const struct kept_answer *answer)
{
	struct http_exchange *x = r->exchange;
	if ((*answer->location && http_exchange_add_header(x, "Location", answer->location) != OK) ||
	    (*answer->etag && http_exchange_add_header(x, "ETag", answer->etag) != OK))
		return answer_failure(r, ERR_INTERNAL);
	http_exchange_set_status(x, answer->status);
	http_exchange_set_body(x, "application/json", answer->body.data, answer->body.len);
	return HTTP_ANSWERED;
}
