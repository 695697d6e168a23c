#include "lib/http/ops_server.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/strbuf.h"
#include "lib/http/http_problem.h"
#include "lib/http/http_router.h"
#include "lib/json/json.h"

#define METRICS_BYTES_MAX (8U << 20)
#define READY_BYTES_MAX 4096
#define CONNECTIONS 64
#define DRAIN_MS 1000
#define HEADER_DEADLINE_MS 5000
#define IDLE_MS 60000

struct ops_server {
	struct ops_server_config config;
	struct http_server *http;
	struct metric *ready;
	struct metric *degraded;
	_Atomic bool draining;
};

static enum http_progress handle_live(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	http_exchange_set_fixed_body(x, "application/json", "{\"status\":\"live\"}", 17);
	return HTTP_COMPLETE;
}

enum readiness { READY, DEGRADED, UNREADY };

static const char *const readiness_names[] = { "ready", "degraded", "unready" };

/* Adds the names of the checks that fail, and "draining", to failing. */
static enum readiness readiness(const struct ops_server *s, struct json *failing)
{
	enum readiness readiness = READY;
	if (atomic_load(&s->draining)) {
		json_append_text(failing, "draining");
		readiness = UNREADY;
	}
	for (size_t i = 0; i < s->config.check_count; i++) {
		const struct ops_server_check *check = &s->config.checks[i];
		if (check->ready(check->ctx))
			continue;
		json_append_text(failing, check->name);
		bool is_degraded = check->can_degrade && check->can_degrade(check->ctx);
		readiness = is_degraded && readiness != UNREADY ? DEGRADED : UNREADY;
	}
	return readiness;
}

static enum http_progress handle_ready(void *ctx, struct http_exchange *x)
{
	const struct ops_server *s = ctx;
	struct json *failing = json_new_array();
	enum readiness state = readiness(s, failing);
	struct json *body = json_new_object();
	json_set_text(body, "status", readiness_names[state]);
	json_set(body, "failing", failing);
	for (size_t i = 0; i < s->config.count_count; i++) {
		const struct ops_server_count *count = &s->config.counts[i];
		json_set_int(body, count->name, count->value(count->ctx));
	}

	struct strbuf text;
	strbuf_init(&text, READY_BYTES_MAX);
	json_write(body, &text);
	http_exchange_set_status(x, state == UNREADY ? 503 : 200);
	http_exchange_set_body(x, "application/json", text.data, text.len);
	strbuf_clear(&text);
	json_free(body);
	return HTTP_COMPLETE;
}

static void update_metrics(const struct ops_server *s)
{
	struct json *failing = json_new_array();
	enum readiness state = readiness(s, failing);
	metrics_set(s->ready, state != UNREADY);
	metrics_set(s->degraded, state == DEGRADED);
	json_free(failing);
}

static enum http_progress handle_metrics(void *ctx, struct http_exchange *x)
{
	const struct ops_server *s = ctx;
	struct strbuf text;
	strbuf_init(&text, METRICS_BYTES_MAX);
	update_metrics(s);
	metrics_render(s->config.metrics, &text);
	if (strbuf_status(&text) == OK)
		http_exchange_set_body(x, "text/plain; version=0.0.4; charset=utf-8", text.data,
		                       text.len);
	else
		http_problem_respond(x, 500, NULL, "The metrics exceed 8 MiB.", NULL);
	strbuf_clear(&text);
	return HTTP_COMPLETE;
}

static const struct http_route routes[] = {
	{ .method = HTTP_GET, .pattern = "/livez", .handler = handle_live },
	{ .method = HTTP_GET, .pattern = "/readyz", .handler = handle_ready },
	{ .method = HTTP_GET, .pattern = "/metrics", .handler = handle_metrics },
};

static enum http_progress handle(void *ctx, struct http_exchange *x)
{
	struct http_match match;
	enum err err = http_router_find(routes, sizeof(routes) / sizeof(routes[0]),
	                                http_exchange_method(x), http_exchange_path(x), &match);
	http_exchange_add_fixed_header(x, "Cache-Control", "no-store");
	if (err == OK)
		return match.route->handler(ctx, x);
	if (err != ERR_CONFLICT)
		return http_problem_respond(x, 404, NULL,
		                            "This port serves /livez, /readyz and /metrics.", NULL);
	if (http_exchange_add_header(x, "Allow", match.allow) != OK)
		return http_problem_respond(x, 500, NULL, NULL, NULL);
	return http_problem_respond(x, 405, NULL, NULL, NULL);
}

enum err ops_server_start(const struct ops_server_config *config, struct ops_server **out)
{
	struct ops_server *s = mem_zero(sizeof(*s));
	s->config = *config;
	s->ready = metrics_gauge(config->metrics, "waymark_ready", "1 while /readyz returns 200",
	                         NULL);
	s->degraded = metrics_gauge(config->metrics, "waymark_degraded",
	                            "1 while /readyz returns 200 although a check fails", NULL);
	/* metrics stays NULL: probes and scrapes are no requests of the public server */
	struct http_server_config http = {
		.name = "ops",
		.address = config->address,
		.port = config->port,
		.loops = 1,
		.connections = CONNECTIONS,
		.header_deadline_ms = HEADER_DEADLINE_MS,
		.idle_ms = IDLE_MS,
		.handler = handle,
		.error_response = http_problem_error_response,
		.ctx = s,
		.clock = config->clock,
		.log = config->log,
	};
	enum err err = http_server_start(&http, &s->http);
	if (err != OK) {
		free(s);
		return err;
	}
	*out = s;
	return OK;
}

uint16_t ops_server_port(const struct ops_server *s)
{
	return http_server_port(s->http);
}

void ops_server_set_draining(struct ops_server *s)
{
	atomic_store(&s->draining, true);
}

void ops_server_stop(struct ops_server *s)
{
	if (s == NULL)
		return;
	http_server_stop(s->http, DRAIN_MS);
	free(s);
}
