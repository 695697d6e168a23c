/*
 * Pure. Finds the route of a request in a table. A pattern has literal and `{name}` segments:
 * "/api/links/{id}". A `{name}` matches one non-empty raw segment (no percent-decoding). A last
 * segment `{name...}` matches the rest of the path, also an empty one; it is no parameter, so read
 * it from http_exchange_path. HEAD uses the route of GET.
 */
#ifndef WAYMARK_LIB_HTTP_HTTP_ROUTER_H
#define WAYMARK_LIB_HTTP_HTTP_ROUTER_H

#include <stddef.h>

#include "lib/http/http_server.h"

#define HTTP_ROUTER_PARAMS_MAX 3
#define HTTP_ROUTER_PARAM_SIZE 64
#define HTTP_ROUTER_ALLOW_SIZE 64

enum http_router_work {
	HTTP_ROUTER_MEMORY, /* the handler needs nothing but memory: the loop runs it */
	HTTP_ROUTER_BLOCKS, /* a worker runs it */
	HTTP_ROUTER_HEAVY,  /* a heavy worker runs it */
};

struct http_route {
	enum http_method method;
	const char *pattern;
	http_handler handler;
	/* The permission that the caller needs; the service defines the values. */
	unsigned right;
	enum http_router_work work;
	/* The handler reads the query; the service decides what other routes do with one. */
	bool queries;
};

struct http_match {
	const struct http_route *route;
	/* In pattern order. */
	char params[HTTP_ROUTER_PARAMS_MAX][HTTP_ROUTER_PARAM_SIZE];
	/* "GET, HEAD, PATCH", set with ERR_CONFLICT. */
	char allow[HTTP_ROUTER_ALLOW_SIZE];
};

/*
 * OK: match is filled. ERR_NOT_FOUND: no pattern matches the path, or a parameter is longer than
 * HTTP_ROUTER_PARAM_SIZE - 1. ERR_CONFLICT: the path exists, but not for this method: respond 405
 * with allow.
 */
enum err http_router_find(const struct http_route *routes, size_t count, enum http_method method,
                          const char *path, struct http_match *match) MUST_CHECK;

/* "GET"; "" for HTTP_OTHER. */
const char *http_router_method_name(enum http_method method);

#endif
