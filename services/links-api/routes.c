#include "services/links-api/routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/trace_context.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/query_params.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/authentication.h"
#include "services/links-api/identity/share.h"
#include "services/links-api/links/link_bulk.h"
#include "services/links-api/lists/link_list_params.h"
#include "services/links-api/route_table.h"

/* Two URLs of LINK_URL_MAX bytes, a title, tags and notes. */
#define BODY_BYTES_MAX ((size_t)32 * 1024)
#define OPTIONS ", OPTIONS"
#define TOO_LARGE 413
#define OVERLOADED 503

/* Errors included. A handler may replace Cache-Control, but never for account data. */
static void add_headers(const struct api *api, struct http_exchange *x)
{
	http_exchange_add_fixed_header(x, "Cache-Control", "no-store");
	http_exchange_add_fixed_header(x, "X-Content-Type-Options", "nosniff");
	if (api->is_https)
		http_exchange_add_fixed_header(x, "Strict-Transport-Security", "max-age=31536000");
	cors_add_headers(&api->cors, x);
}

/* Browsers send OPTIONS before a request with a token or JSON (CORS preflight). */
static enum http_progress send_options(struct request *r, const char *methods)
{
	cors_add_preflight_headers(&r->api->cors, r->exchange, methods);
	return response_no_content(r);
}

static enum http_progress send_no_path(struct request *r)
{
	const char *path = http_exchange_path(r->exchange);
	bool ends_with_slash = path[0] && path[1] && path[strlen(path) - 1] == '/';
	return response_problem(r, 404, NULL,
	                        ends_with_slash
	                                ? "No endpoint has this path. Paths do not end with /."
	                                : "No endpoint has this path. /openapi.json has all.");
}

/* An id that is no number says nothing about what exists, so the response may explain it. */
static bool has_malformed_id(const struct request *r)
{
	return strstr(r->match.route->pattern, "/{id}") && request_path_id(r) == 0;
}

static enum http_progress send_malformed_id(struct request *r)
{
	bool is_link = strncmp(r->match.route->pattern, "/api/links/", 11) == 0;
	return response_problem(
		r, 404, "malformed-id",
		is_link ? "The id of a link is a number. GET /api/links/by-slug/SLUG finds it."
			: "The id is a number.");
}

static enum http_progress send_no_route(struct request *r, enum err err)
{
	if (err == ERR_NOT_FOUND)
		return send_no_path(r);
	char methods[HTTP_ROUTER_ALLOW_SIZE + sizeof(OPTIONS)];
	snprintf(methods, sizeof(methods), "%s" OPTIONS, r->match.allow);
	if (http_exchange_add_header(r->exchange, "Allow", methods) != OK)
		return response_failure(r, ERR_INTERNAL);
	if (http_exchange_method(r->exchange) == HTTP_OPTIONS)
		return send_options(r, methods);
	char detail[sizeof(methods) + 64];
	snprintf(detail, sizeof(detail), "Method not allowed here. Allowed are %s.", methods);
	return response_problem(r, 405, NULL, detail);
}

/* Checks Accept before a change, so that no unreadable response follows a commit. */
static bool modifies(const struct http_route *route)
{
	return route->method == HTTP_POST || route->method == HTTP_PUT ||
	       route->method == HTTP_PATCH;
}

static enum http_progress dispatch(struct request *r)
{
	struct http_problem_fields wrong = { 0 };
	if (has_malformed_id(r))
		return send_malformed_id(r);
	/* An ignored filter could be one that the caller relies on. */
	if (!r->match.route->queries &&
	    query_params_read(http_exchange_query(r->exchange), NULL, 0, &wrong) != OK)
		return response_invalid_fields(r, &wrong);
	if (modifies(r->match.route) && !response_accepts_json(r))
		return HTTP_COMPLETE;
	/* Forms of other sites cannot send JSON, also where the handler ignores the body. */
	if (r->session_id && !request_body_check_type(r))
		return HTTP_COMPLETE;
	return r->match.route->handler(r, r->exchange);
}

static enum http_progress start(struct request *r)
{
	struct http_exchange *x = r->exchange;
	add_headers(r->api, x);
	enum err err = route_table_find(http_exchange_method(x), http_exchange_path(x), &r->match,
	                                &r->named_workspace_id);
	if (err != OK)
		return send_no_route(r, err);
	if (r->match.route->right == PERMISSION_NONE && r->match.route->work == HTTP_ROUTER_MEMORY)
		return dispatch(r);
	enum request_auth login = REQUEST_AUTH_VALID;
	if (r->match.route->right != PERMISSION_NONE)
		login = authentication_read(r);
	if (login != REQUEST_AUTH_VALID)
		return authentication_send_error(r, login);
	http_exchange_set_flow(x, request_flow(r, r->credentials.user_id));
	return HTTP_NEEDS_WORKER;
}

/*
 * Confirms the credentials in the database. From here on the request belongs to the flow of its
 * account. False: the response is complete.
 */
static bool authorize(struct request *r)
{
	unsigned permission = r->match.route->right;
	if (permission != PERMISSION_NONE) {
		enum request_auth login = REQUEST_AUTH_INVALID;
		enum err err = authentication_verify(r, &login);
		if (err != OK)
			response_failure(r, err);
		else if (login != REQUEST_AUTH_VALID)
			authentication_send_error(r, login);
		if (err != OK || login != REQUEST_AUTH_VALID || !authentication_take_request(r) ||
		    !authentication_authorize(r, permission))
			return false;
		http_exchange_set_flow(r->exchange,
		                       r->share ? request_readers_flow(r->share->sponsor_id)
		                                : request_flow(r, r->user_id));
	}
	r->is_authorized = true;
	return true;
}

static bool is_heavy(const struct request *r)
{
	const struct http_route *route = r->match.route;
	return route->work == HTTP_ROUTER_HEAVY ||
	       (route->handler == link_list_handlers_get &&
	        link_list_params_has_search(http_exchange_query(r->exchange)));
}

/*
 * On a worker. A request with an API key, a session or the token of a share has waited in the flow
 * of its network, so it waits again, in the flow of its person or of a sponsor's readers.
 * Otherwise many keys would be many flows.
 */
static enum http_progress resume(struct request *r)
{
	bool was_authorized = r->is_authorized;
	if (!was_authorized && !authorize(r))
		return HTTP_COMPLETE;
	if (r->is_heavy || (was_authorized && http_exchange_is_on_worker(r->exchange)))
		return dispatch(r);
	r->is_heavy = is_heavy(r);
	if (r->is_heavy)
		return HTTP_NEEDS_HEAVY_WORKER;
	return r->credentials.kind == REQUEST_ACCESS_TOKEN ? dispatch(r) : HTTP_NEEDS_WORKER;
}

enum http_progress routes_handle(void *ctx, struct http_exchange *x)
{
	struct request *r = http_exchange_state(x);
	return r ? resume(r) : start(request_new(ctx, x));
}

/* r: a request whose body has not been read yet. */
static bool takes_large_bodies(struct request *r)
{
	struct http_exchange *x = r->exchange;
	if (route_table_find(http_exchange_method(x), http_exchange_path(x), &r->match,
	                     &r->named_workspace_id) != OK)
		return false;
	return r->match.route->handler == link_bulk_create ||
	       r->match.route->handler == link_bulk_sync ||
	       r->match.route->handler == app_document_handlers_put ||
	       r->match.route->handler == share_handlers_create ||
	       r->match.route->handler == share_edit_handle_change;
}

size_t routes_body_limit(void *ctx, struct http_exchange *x)
{
	struct request r = { .api = ctx, .exchange = x };
	bool is_large = takes_large_bodies(&r) && authentication_read(&r) == REQUEST_AUTH_VALID;
	if (is_large)
		http_exchange_set_flow(x, request_flow(&r, r.credentials.user_id));
	return is_large ? ROUTES_BODY_BYTES_MAX : BODY_BYTES_MAX;
}

bool routes_admit_body(void *ctx, struct http_exchange *x)
{
	struct request *r = request_new(ctx, x);
	add_headers(r->api, x);
	if (takes_large_bodies(r) && authentication_read(r) == REQUEST_AUTH_VALID)
		return authorize(r);
	authentication_send_error(r, REQUEST_AUTH_INVALID);
	return false;
}

/* A large body is allowed only with credentials, so without them the problem is 401 and not 413. */
static bool reject_anonymous_large_body(const struct api *api, struct http_exchange *x)
{
	struct request r = { .api = api, .exchange = x };
	if (!takes_large_bodies(&r))
		return false;
	enum request_auth login = authentication_read(&r);
	if (login != REQUEST_AUTH_VALID)
		authentication_send_error(&r, login);
	return login != REQUEST_AUTH_VALID;
}

void routes_send_error(void *ctx, struct http_exchange *x, unsigned status, const char *detail)
{
	add_headers(ctx, x);
	if (status == TOO_LARGE && reject_anonymous_large_body(ctx, x))
		return;
	http_problem_respond(x, status, status == OVERLOADED ? "overloaded" : NULL, detail, NULL);
}

/* --- what is counted and logged --- */

#define LABELS_SIZE 128
#define CODES 6 /* indexed by the first digit of the status; 0 and 1 are unused */
#define CODE_SIZE sizeof(",code=\"2xx\"")

struct row {
	struct metric *counters[CODES];
	struct metric *seconds;
	char labels[LABELS_SIZE];
	char labels_by_code[CODES][LABELS_SIZE + CODE_SIZE];
};

struct routes_metrics {
	/* route_table.h */
	const struct http_route *table;
	size_t count;
	/* The last one, rows[count], counts requests that matched no route. */
	struct row rows[];
};

static void set_labels(struct row *row, const char *method, const char *pattern)
{
	snprintf(row->labels, sizeof(row->labels), "method=\"%s\",route=\"%s\"", method, pattern);
	for (unsigned i = 2; i < CODES; i++)
		snprintf(row->labels_by_code[i], sizeof(row->labels_by_code[i]), "%s,code=\"%uxx\"",
		         row->labels, i);
}

static void register_counters(struct row *row, struct metrics *metrics)
{
	for (unsigned i = 2; i < CODES; i++)
		row->counters[i] =
			metrics_counter(metrics, "waymark_api_requests_total",
		                        "Requests counters, by route.", row->labels_by_code[i]);
}

struct routes_metrics *routes_metrics_new(struct metrics *metrics)
{
	size_t count;
	const struct http_route *table = route_table_rows(&count);
	struct routes_metrics *routes =
		mem_zero(sizeof(*routes) + (count + 1) * sizeof(routes->rows[0]));
	routes->table = table;
	routes->count = count;
	for (size_t i = 0; i < count; i++)
		set_labels(&routes->rows[i], http_router_method_name(table[i].method),
		           table[i].pattern);
	set_labels(&routes->rows[count], "", "");
	/* All series of one metric must be registered together. */
	for (size_t i = 0; i <= count; i++)
		register_counters(&routes->rows[i], metrics);
	for (size_t i = 0; i <= count; i++)
		routes->rows[i].seconds = metrics_histogram(
			metrics, "waymark_api_request_seconds",
			"Time from the request line to the queued response, by route.",
			routes->rows[i].labels, metrics_latency_bounds,
			metrics_latency_bound_count);
	return routes;
}

void routes_metrics_free(struct routes_metrics *routes)
{
	free(routes);
}

/* route: a row of the table, or NULL if none matched. */
static void count_request(struct routes_metrics *routes, const struct http_route *route,
                          unsigned status, int64_t duration_us)
{
	struct row *row = &routes->rows[route ? (size_t)(route - routes->table) : routes->count];
	unsigned code = status / 100;
	metrics_add(code < CODES ? row->counters[code] : NULL, 1);
	metrics_observe(row->seconds, (double)duration_us / (double)CLOCK_US_PER_S);
}

void routes_log(void *ctx, const struct http_exchange *x, unsigned status, int64_t duration_us)
{
	const struct api *api = ctx;
	const struct request *r = http_exchange_state(x);
	char trace_id[TRACE_CONTEXT_ID_SIZE];
	trace_context_id(http_exchange_traceparent(x), trace_id);
	const char *route = r && r->match.route ? r->match.route->pattern : "";
	count_request(api->route_metrics, r ? r->match.route : NULL, status, duration_us);
	tracer_end(api->tracer, x, route, status, duration_us);
	log_info(api->log, "request", LOG_TEXT("request_id", http_exchange_request_id(x)),
	         LOG_TEXT("method", http_exchange_method_name(x)), LOG_TEXT("route", route),
	         LOG_INT("status", status), LOG_DOUBLE("duration_ms", (double)duration_us / 1000.0),
	         LOG_INT_IF("workspace_id", r ? r->workspace_id : 0),
	         LOG_INT_IF("key_id", r ? r->key_id : 0), LOG_TEXT_IF("trace_id", trace_id));
}
