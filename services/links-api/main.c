/*
 * The service starts even if its backends are down. Ready means that PostgreSQL is reachable. Redis
 * and Kafka do not affect readiness: without them the API still works, and events wait in the
 * outbox.
 */
#include <stdlib.h>

#include "lib/base/metrics.h"
#include "lib/base/shutdown.h"
#include "lib/http/http_server.h"
#include "lib/http/ops_server.h"
#include "services/links-api/accounts/registration.h"
#include "services/links-api/commands/commands.h"
#include "services/links-api/http/api.h"
#include "services/links-api/live/live_feed.h"
#include "services/links-api/outbox/outbox_relay.h"
#include "services/links-api/routes.h"
#include "services/links-api/workspaces/workspace_closing.h"

#define REQUEST_DEADLINE_MS 10000
#define IDLE_MS 60000
/*
 * A filter has up to 2,000 bytes (nql.h), or three times as many percent-encoded; the rest is for
 * other parameters.
 */
#define TARGET_BYTES_MAX 6400
#define HEAD_BYTES_MAX 10240

struct links_api {
	struct metrics *metrics;
	struct api *api;
	struct outbox_relay *relay;
	struct workspace_closing *closing;
	struct http_server *http;
	struct ops_server *ops;
	struct ops_server_check checks[2];
};

static enum err start_outbox_relay(struct links_api *service)
{
	struct api *api = service->api;
	struct outbox_relay_config relay = {
		.pg_url = api->config->pg_url,
		.schema_version = WAYMARK_SCHEMA_VERSION,
		.kafka = &api->config->kafka,
		.cache = api->cache,
		.redis = api->redis,
		.low_priority_per_second = api->config->outbox_low_priority_per_second,
		.clock = api->clock,
		.log = api->log,
		.metrics = service->metrics,
	};
	enum err err = outbox_relay_start(&relay, &service->relay);
	api->relay = service->relay;
	return err;
}

/* ERR_INVALID: REDIS_URL or a Kafka variable is invalid (logged). */
static enum err create(struct links_api *service, const struct config *config,
                       const struct log *log)
{
	enum err err = api_new(config, log, service->metrics, &service->api);
	if (err == OK)
		err = start_outbox_relay(service);
	if (err == OK)
		service->closing = workspace_closing_start(service->api);
	return err;
}

static enum err start_http(struct links_api *service)
{
	const struct config *config = service->api->config;
	struct http_server_config http = {
		.name = "public",
		.address = config->http_address,
		.port = (uint16_t)config->http_port,
		.loops = (size_t)config->http_loops,
		.workers = (size_t)config->http_workers,
		.heavy_workers = (size_t)config->http_heavy_workers,
		.worker_queue = (size_t)config->http_worker_queue,
		.worker_wait_ms = config->http_worker_wait_ms,
		.connections = (size_t)config->http_connections,
		.connections_per_ip = (size_t)config->http_connections_per_ip,
		.head_bytes_max = HEAD_BYTES_MAX,
		.target_bytes_max = TARGET_BYTES_MAX,
		.body_bytes_max = ROUTES_BODY_BYTES_MAX,
		.bodies_bytes_max = (size_t)config->http_bodies_max_bytes,
		.body_limit = routes_body_limit,
		.admission = routes_admit_body,
		.header_deadline_ms = REQUEST_DEADLINE_MS,
		.idle_ms = IDLE_MS,
		.trusted = &service->api->trusted,
		.client_ip_header = config->client_ip_header,
		.handler = routes_handle,
		.error_response = routes_send_error,
		.observer = routes_log,
		.begin_span = service->api->tracer ? tracer_begin : NULL,
		.tracer = service->api->tracer,
		.ctx = service->api,
		.clock = service->api->clock,
		.log = service->api->log,
		.metrics = service->metrics,
	};
	return http_server_start(&http, &service->http);
}

/* Both pools, so that statistics are not 503 just after /readyz became 200. */
static bool reaches_postgres(void *ctx)
{
	const struct api *api = ctx;
	return pg_pool_is_reachable(api->pg) && pg_pool_is_reachable(api->heavy_pg);
}

static enum err start_ops(struct links_api *service)
{
	service->checks[0] = (struct ops_server_check){ .name = "postgres",
		                                        .ready = reaches_postgres,
		                                        .ctx = service->api };
	service->checks[1] = (struct ops_server_check){ .name = "schema",
		                                        .ready = pg_pool_is_schema_supported,
		                                        .ctx = service->api->pg };
	struct ops_server_config ops = {
		.address = service->api->config->ops_address,
		.port = (uint16_t)service->api->config->ops_port,
		.checks = service->checks,
		.check_count = 2,
		.metrics = service->metrics,
		.clock = service->api->clock,
		.log = service->api->log,
	};
	return ops_server_start(&ops, &service->ops);
}

/* ERR_UNAVAILABLE: a port could not be opened (logged). */
static enum err serve(struct links_api *service)
{
	enum err err = start_http(service);
	return err == OK ? start_ops(service) : err;
}

/* Turns /readyz off, completes running requests within DRAIN_MS and closes the ports. */
static void drain(struct links_api *service)
{
	if (service->ops)
		ops_server_set_draining(service->ops);
	live_feed_end_streams(service->api->live);
	if (service->http && service->ops)
		http_server_enter_lame_duck(service->http, service->api->config->drain_notice_ms);
	if (service->http)
		http_server_stop(service->http, service->api->config->drain_ms);
	if (service->ops)
		ops_server_stop(service->ops);
}

int main(int argc, char **argv)
{
	/* configure */
	struct config config;
	int status = commands_run(argc, argv);
	if (status != COMMANDS_NONE)
		return status;
	status = program_start(&config_program, argc, argv, &config);
	if (status != PROGRAM_RUN)
		return status;

	/* create */
	struct shutdown *shutdown = shutdown_new();
	struct log *log = log_new("links-api", config.log_level, 2);
	struct links_api service = { .metrics = metrics_new() };
	metrics_register_process(service.metrics);
	enum err err = create(&service, &config, log);
	bool is_created = err == OK;
	status = err == OK ? EXIT_SUCCESS : PROGRAM_EXIT_USAGE;

	/* serve */
	if (err == OK) {
		err = serve(&service);
		status = err == OK ? EXIT_SUCCESS : EXIT_FAILURE;
	}

	/* wait */
	if (err == OK) {
		log_info(log, "started", LOG_TEXT("version", WAYMARK_VERSION),
		         LOG_INT("http_port", http_server_port(service.http)),
		         LOG_INT("ops_port", ops_server_port(service.ops)));
		registration_announce_way_in(service.api, shutdown);
		shutdown_wait(shutdown);
		log_info(log, "stopping");
	}

	/* drain, in reverse */
	if (is_created)
		drain(&service);
	workspace_closing_stop(service.closing);
	outbox_relay_stop(service.relay);
	api_free(service.api);
	log_info(log, "stopped");
	metrics_free(service.metrics);
	log_free(log);
	shutdown_free(shutdown);
	return status;
}
