/*
 * Pure. Reads the query string of a list into numbers and texts. Reports all invalid parameters at
 * once. Unknown and repeated parameters are invalid, because an ignored filter could be one that
 * the caller relies on.
 *
 *   struct query_param params[] = { { .name = "limit", .number = &limit, .min = 1, .max = 100 } };
 *   err = query_params_read(query, params, ARRAY_SIZE(params), &wrong);
 */
#ifndef WAYMARK_SERVICES_LINKS_API_HTTP_QUERY_PARAMS_H
#define WAYMARK_SERVICES_LINKS_API_HTTP_QUERY_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/http/http_problem.h"

#define QUERY_PARAMS_NAME_SIZE 64
#define QUERY_PARAMS_VALUE_SIZE 2001
#define QUERY_PARAMS_TEXT_SIZE 256

/* --- one pair after the other, for endpoints with parameters of their own --- */

struct query_pair {
	/* Not empty: a name that cannot be decoded is here without its wrong bytes. */
	char name[QUERY_PARAMS_NAME_SIZE];
	char value[QUERY_PARAMS_VALUE_SIZE];
	/* Of the name, for a problem. */
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	/* OK, or why the value cannot be decoded (http_query_next). */
	enum err err;
};

/* False: the end. */
bool query_params_next(const char **query, struct query_pair *pair);

/*
 * True: the value may be read. False: it cannot be decoded or the parameter is given twice, which
 * wrong says now. *seen: whether it has been given before; true afterwards.
 */
bool query_params_accept(const struct query_pair *pair, bool *seen,
                         struct http_problem_fields *wrong);

void query_params_refuse_unknown(const struct query_pair *pair, struct http_problem_fields *wrong);

/* --- all at once --- */

/* The destination of one parameter: a number from min to max, or a text. */
struct query_param {
	/* A "cursor" that is no number is an invalid cursor. */
	const char *name;
	int64_t *number;
	int64_t min, max;
	char *text;
	/* Up to QUERY_PARAMS_TEXT_SIZE. */
	size_t text_size;
	bool seen;
};

/* ERR_INVALID: *wrong says what is. A parameter that is not given keeps its value. */
enum err query_params_read(const char *query, struct query_param *params, size_t count,
                           struct http_problem_fields *wrong) MUST_CHECK;

#endif
