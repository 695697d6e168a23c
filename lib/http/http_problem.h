/*
 * One thread at a time. Error responses as application/problem+json (RFC 9457):
 *   {"type":"/problems/validation","title":"…","status":400,"detail":"…","instance":"<request id>",
 *    "errors":[{"pointer":"/title","code":"too-long","detail":"…"}]}
 * type is "/problems/<kind>"; without a kind, that of the status, such as "method-not-allowed".
 */
#ifndef WAYMARK_LIB_HTTP_HTTP_PROBLEM_H
#define WAYMARK_LIB_HTTP_HTTP_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/http/http_server.h"
#include "lib/json/json.h"

#define HTTP_PROBLEM_FIELDS_MAX 64
#define HTTP_PROBLEM_POINTER_SIZE 96
#define HTTP_PROBLEM_DETAIL_SIZE 200

/* All invalid fields of one request, collected before the response is written. */
struct http_problem_fields {
	size_t count;
	struct {
		/* RFC 6901. */
		char pointer[HTTP_PROBLEM_POINTER_SIZE];
		/* What is wrong, for programs; borrowed. */
		const char *code;
		char detail[HTTP_PROBLEM_DETAIL_SIZE];
	} field[HTTP_PROBLEM_FIELDS_MAX];
};

/*
 * Adds a field. code: a literal that keeps its meaning; the detail may change. Fields beyond
 * HTTP_PROBLEM_FIELDS_MAX are dropped; long texts are cut.
 */
void http_problem_add_field(struct http_problem_fields *fields, const char *pointer,
                            const char *code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * The problem as JSON, for responses that hold several. instance: the request id. kind, detail and
 * fields may be NULL.
 */
struct json *http_problem_new(unsigned status, const char *kind, const char *detail,
                              const char *instance, const struct http_problem_fields *fields);

/* Writes the response of x. kind, detail and fields may be NULL. */
enum http_progress http_problem_respond(struct http_exchange *x, unsigned status, const char *kind,
                                        const char *detail,
                                        const struct http_problem_fields *fields);

/* The same with what http_problem_new has made, to which the caller has added members. Takes problem. */
enum http_progress http_problem_send(struct http_exchange *x, unsigned status,
                                     struct json *problem);

/* An http_error_response that writes a problem. */
void http_problem_error_response(void *ctx, struct http_exchange *x, unsigned status,
                                 const char *detail);

#endif
