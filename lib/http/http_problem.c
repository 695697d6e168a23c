#include "lib/http/http_problem.h"

#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>

#include "lib/base/array.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define PROBLEM_BYTES_MAX 65536

void http_problem_add_field(struct http_problem_fields *fields, const char *pointer,
                            const char *code, const char *format, ...)
{
	if (fields->count == HTTP_PROBLEM_FIELDS_MAX)
		return;
	size_t i = fields->count++;
	snprintf(fields->field[i].pointer, HTTP_PROBLEM_POINTER_SIZE, "%s", pointer);
	fields->field[i].code = code;
	va_list args;
	va_start(args, format);
	vsnprintf(fields->field[i].detail, HTTP_PROBLEM_DETAIL_SIZE, format, args);
	va_end(args);
}

/* What a status alone says; each has a section in docs/api/problems.md. */
static const struct {
	unsigned status;
	const char *kind;
} kinds[] = {
	{ 400, "malformed-request" },
	{ 404, "no-such-endpoint" },
	{ 405, "method-not-allowed" },
	{ 406, "not-acceptable" },
	{ 408, "request-timeout" },
	{ 410, "link-ended" },
	{ 411, "length-required" },
	{ 413, "body-too-large" },
	{ 414, "target-too-long" },
	{ 415, "media-type-unsupported" },
	{ 429, "rate-limit" },
	{ 431, "headers-too-large" },
	{ 451, "link-blocked" },
	{ 500, "internal-error" },
	{ 503, "temporarily-unavailable" },
};

static const char *kind_of(unsigned status)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].status == status)
			return kinds[i].kind;
	return status < 500 ? "malformed-request" : "internal-error";
}

static void set_type(struct json *problem, const char *kind)
{
	char type[96];
	snprintf(type, sizeof(type), "/problems/%s", kind);
	json_set_text(problem, "type", type);
}

static void set_errors(struct json *problem, const struct http_problem_fields *fields)
{
	struct json *errors = json_new_array();
	for (size_t i = 0; i < fields->count; i++) {
		struct json *error = json_new_object();
		json_set_text(error, "pointer", fields->field[i].pointer);
		json_set_text(error, "code", fields->field[i].code);
		json_set_text(error, "detail", fields->field[i].detail);
		json_append(errors, error);
	}
	json_set(problem, "errors", errors);
}

struct json *http_problem_new(unsigned status, const char *kind, const char *detail,
                              const char *instance, const struct http_problem_fields *fields)
{
	struct json *problem = json_new_object();
	set_type(problem, kind == NULL ? kind_of(status) : kind);
	json_set_text(problem, "title", MHD_get_reason_phrase_for(status));
	json_set_int(problem, "status", status);
	if (detail != NULL)
		json_set_text(problem, "detail", detail);
	json_set_text(problem, "instance", instance);
	if (fields != NULL && fields->count > 0)
		set_errors(problem, fields);
	return problem;
}

enum http_progress http_problem_respond(struct http_exchange *x, unsigned status, const char *kind,
                                        const char *detail,
                                        const struct http_problem_fields *fields)
{
	return http_problem_send(
		x, status,
		http_problem_new(status, kind, detail, http_exchange_request_id(x), fields));
}

enum http_progress http_problem_send(struct http_exchange *x, unsigned status, struct json *problem)
{
	struct strbuf text;
	strbuf_init(&text, PROBLEM_BYTES_MAX);
	json_write(problem, &text);
	http_exchange_set_status(x, status);
	http_exchange_set_body(x, "application/problem+json", text.data, text.len);
	strbuf_clear(&text);
	json_free(problem);
	return HTTP_COMPLETE;
}

void http_problem_error_response(void *ctx, struct http_exchange *x, unsigned status,
                                 const char *detail)
{
	(void)ctx;
	http_problem_respond(x, status, NULL, detail, NULL);
}
