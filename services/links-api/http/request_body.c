#include "services/links-api/http/request_body.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "services/links-api/http/response.h"

/* Accepts parameters. JSON is always UTF-8, so a charset parameter changes nothing. */
static bool is_json(const char *content_type)
{
	static const char json[] = "application/json";
	if (!content_type || strncasecmp(content_type, json, strlen(json)) != 0)
		return false;
	content_type += strlen(json);
	content_type += strspn(content_type, " \t");
	return *content_type == '\0' || *content_type == ';';
}

/* An empty body still needs "Content-Length: 0". */
static bool has_length(const struct request *r)
{
	return http_exchange_header(r->exchange, "Content-Length") ||
	       http_exchange_header(r->exchange, "Transfer-Encoding");
}

static bool is_empty(const struct request *r)
{
	size_t len;
	http_exchange_body(r->exchange, &len);
	return len == 0;
}

static bool is_encoded(const struct request *r)
{
	const char *encoding = http_exchange_header(r->exchange, "Content-Encoding");
	return encoding && *encoding && strcasecmp(encoding, "identity") != 0;
}

/* True if there is a body in a supported encoding and type. If false, the response is complete. */
static bool check_body_headers(struct request *r)
{
	if (!has_length(r)) {
		response_problem(
			r, 411, NULL,
			"The request has no body. Send a JSON object with a Content-Length header.");
		return false;
	}
	if (is_encoded(r)) {
		http_exchange_add_fixed_header(r->exchange, "Accept-Encoding", "identity");
		response_problem(r, 415, NULL, "Send the body without Content-Encoding.");
		return false;
	}
	if (is_empty(r)) {
		response_problem(r, 400, "json",
		                 "The body is empty. Send a JSON object with Content-Type: "
		                 "application/json.");
		return false;
	}
	if (is_json(http_exchange_header(r->exchange, "Content-Type")))
		return true;
	http_exchange_add_fixed_header(r->exchange, "Accept", "application/json");
	response_problem(r, 415, NULL,
	                 "The body must be JSON with Content-Type: application/json.");
	return false;
}

bool request_body_check_type(struct request *r)
{
	size_t len;
	http_exchange_body(r->exchange, &len);
	return len == 0 || check_body_headers(r);
}

struct json *request_body_read(struct request *r)
{
	if (!check_body_headers(r))
		return NULL;
	size_t len;
	const char *text = http_exchange_body(r->exchange, &len);
	char reason[JSON_REASON_SIZE];
	struct json *body = NULL;
	if (json_parse(text, len, &body, reason) != OK) {
		char detail[JSON_REASON_SIZE + 32];
		snprintf(detail, sizeof(detail), "The body is not valid JSON: %s.", reason);
		response_problem(r, 400, "json", detail);
		return NULL;
	}
	if (json_type(body) != JSON_OBJECT) {
		response_problem(r, 400, "json", "The body must be a JSON object.");
		json_free(body);
		return NULL;
	}
	return body;
}
