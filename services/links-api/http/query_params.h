/*
 * Pure. Reads the query string of a list into numbers and texts. Reports all invalid parameters at
 * once. Unknown and repeated parameters are invalid, because an ignored filter could be one that
 * the caller relies on.
 *
 *   struct query_param params[] = { { .name = "limit", .number = &limit, .max = 100 } };
 *   err = query_params_read(query, params, ARRAY_SIZE(params), &wrong);
 */
#ifndef WAYMARK_SERVICES_LINKS_API_HTTP_QUERY_PARAMS_H
#define WAYMARK_SERVICES_LINKS_API_HTTP_QUERY_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/http/http_problem.h"

#define QUERY_PARAMS_TEXT_SIZE 256

/* The destination of one parameter: a number from 1 to max, or a text. */
struct query_param {
	const char *name; /* a "cursor" that is no number is an invalid cursor */
	int64_t *number;
	int64_t max;
	char *text;
	size_t text_size; /* up to QUERY_PARAMS_TEXT_SIZE */
	bool seen;
};

/* Adds what is wrong with the value of a parameter: the err of http_query_next, for size bytes. */
void query_params_refuse_value(enum err err, const char *pointer, size_t size,
                               struct http_problem_fields *wrong);

/* ERR_INVALID: *wrong says what is. A parameter that is not given keeps its value. */
enum err query_params_read(const char *query, struct query_param *params, size_t count,
                           struct http_problem_fields *wrong) MUST_CHECK;

#endif
