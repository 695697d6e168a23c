/*
 * Pure. Which route of a table a request means. Patterns are literal segments and `{name}` segments: "/api/links/{id}".
 * A `{name}` takes one non-empty raw segment (no percent-decoding). HEAD is answered by GET's route.
 */
#ifndef WAYMARK_LIB_NET_HTTP_ROUTER_H
#define WAYMARK_LIB_NET_HTTP_ROUTER_H

#include <stddef.h>

#include "lib/net/http_server.h"

#define HTTP_ROUTER_PARAMS_MAX 3
#define HTTP_ROUTER_PARAM_SIZE 64
#define HTTP_ROUTER_ALLOW_SIZE 64

struct http_route {
	enum http_method method;
	const char *pattern;
	http_handler handler;
	unsigned right; /* what the caller must be allowed; its meaning is the service's */
	bool blocks;    /* runs on a worker from the start */
	bool queries;   /* the handler sees to the query; what that means for others is the service's */
};

struct http_match {
	const struct http_route *route;
	char params[HTTP_ROUTER_PARAMS_MAX][HTTP_ROUTER_PARAM_SIZE]; /* in the order of the pattern */
	char allow[HTTP_ROUTER_ALLOW_SIZE];                          /* "GET, HEAD, PATCH", set with ERR_CONFLICT */
};

/*
 * OK: match is filled. ERR_NOT_FOUND: no pattern fits the path (also a segment longer than HTTP_ROUTER_PARAM_SIZE - 1).
 * ERR_CONFLICT: the path is known, the method is not: answer 405 with allow.
 */
enum err http_router_find(const struct http_route *routes, size_t count, enum http_method method, const char *path,
                          struct http_match *match) MUST_CHECK;

/* "GET"; "" for HTTP_OTHER. */
const char *http_router_method_name(enum http_method method);

#endif
