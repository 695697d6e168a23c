#include "services/links-api/http/api.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/http/http_logo.h"
#include "services/links-api/destinations/public_base.h"
#include "services/links-api/health/health_probe.h"
#include "services/links-api/http/time_zones.h"
#include "services/links-api/identity/access_token.h"
#include "services/links-api/identity/oidc_client.h"
#include "services/links-api/links/reserved_slugs.h"
#include "services/links-api/live/live_feed.h"
#include "services/links-api/routes.h"
#include "services/links-api/statistics/visit_export.h"
#include "services/links-api/titles/title_handlers.h"

#define PG_WAITERS_MAX 256

/* max and the timeout of a statement are the caller's. */
static struct pg_pool *make_pg_pool(const struct api *api, struct metrics *metrics, int64_t max,
                                    int64_t statement_timeout_ms)
{
	return pg_pool_new(&(struct pg_pool_config){
		.url = api->config->pg_url,
		.application_name = "links-api",
		.max = (size_t)max,
		.waiters_max = PG_WAITERS_MAX,
		.wait_ms = api->config->pg_wait_ms,
		.connect_timeout_ms = api->config->pg_wait_ms,
		.statement_timeout_ms = statement_timeout_ms,
		.schema_version = WAYMARK_SCHEMA_VERSION,
		.clock = api->clock,
		.log = api->log,
		.metrics = metrics,
	});
}

static enum err make_redis_pool(struct api *api, struct metrics *metrics)
{
	struct redis_pool_config redis = {
		.url = api->config->redis_url,
		.ca_file = api->config->redis_ssl_ca_file,
		.max = (size_t)api->config->redis_connections,
		.timeout_ms = api->config->redis_timeout_ms,
		.clock = api->clock,
		.log = api->log,
		.metrics = metrics,
	};
	return redis_pool_new(&redis, &api->redis);
}

static struct live_feed *start_live_feed(const struct api *api, struct metrics *metrics)
{
	return live_feed_start(&(struct live_feed_config){
		.pg = api->pg,
		.kafka = &api->config->kafka,
		.streams_max = (size_t)api->config->live_streams,
		.streams_per_account = (size_t)api->config->live_streams_per_account,
		.stream_us = api->config->live_stream_s * CLOCK_US_PER_S,
		.clock = api->clock,
		.log = api->log,
		.metrics = metrics,
	});
}

static enum err load_policies(struct api *api, struct metrics *metrics)
{
	const struct host_guard_config guard = {
		.blocked_file = api->config->blocked_hosts_file,
		.allowed_file = api->config->allowed_hosts_file,
		.postgres = api->pg,
		.interval_ms = api->config->hosts_check_ms,
		.clock = api->clock,
		.log = api->log,
		.metrics = metrics,
	};
	enum err err = public_base_parse_aliases(api->config->own_hosts, &api->own_hosts);
	if (err == OK)
		err = reserved_slugs_new(api->config->reserved_slugs, &api->reserved_slugs);
	if (err == OK)
		err = host_guard_start(&guard, &api->hosts);
	api->base->aliases = api->own_hosts;
	api->base->reserved = api->reserved_slugs;
	api->base->hosts = api->hosts;
	api->base->schemes = api->config->destination_schemes;
	api->base->destination_bytes_max = (size_t)api->config->destination_bytes_max;
	api->base->slug_length_max = (size_t)api->config->slug_length_max;
	api->base->is_slug_exact = slug_case_is_exact(api->config->slug_case);
	return err;
}

static enum err read_logo(struct api *api)
{
	struct strbuf problems;
	strbuf_init(&problems, 4096);
	enum err err = http_logo_read(api->config->operator_logo_file, &problems, &api->logo);
	strbuf_clear(&problems);
	return err;
}

enum err api_new(const struct config *config, const struct log *log, struct metrics *metrics,
                 struct api **out)
{
	struct api *api = mem_zero(sizeof(*api));
	api->config = config;
	api->clock = clock_system();
	api->log = log;
	api->base = mem_zero(sizeof(*api->base));
	api->secrets = mem_zero(sizeof(*api->secrets));
	const char *reason;
	enum err err = public_base_init(api->base, config->public_base_url, &reason);
	api->is_https = err == OK && strncmp(api->base->url, "https:", 6) == 0;
	if (err == OK)
		err = client_ip_ranges_parse(config->trusted_proxies, &api->trusted);
	if (err == OK)
		err = cors_init(&api->cors, config->cors_origins);
	if (err == OK)
		err = read_logo(api);
	if (err == OK)
		err = access_token_parse_secrets(config->jwt_secret, api->secrets);
	if (err == OK)
		err = oidc_client_new(config->oidc_config, config->oidc_required_claim, api->clock,
		                      log, &api->oidc);
	if (err == OK)
		err = make_redis_pool(api, metrics);
	if (err != OK) {
		log_error(log, "configuration_refused", LOG_TEXT("error", err_name(err)));
		api_free(api);
		return ERR_INVALID;
	}
	api->pg =
		make_pg_pool(api, metrics, config->pg_connections, config->pg_statement_timeout_ms);
	api->heavy_pg = make_pg_pool(api, metrics, config->pg_heavy_connections,
	                             config->pg_heavy_statement_timeout_ms);
	api->limits = rate_limit_new(api->redis, api->clock, metrics);
	api->cache = link_cache_new(&(struct link_cache_config){
		.redis = api->redis, .clock = api->clock, .log = log, .metrics = metrics });
	size_t threads = (size_t)config->password_threads;
	api->password_workers = worker_pool_new_fair(
		"password", threads, (size_t)config->password_queue, (threads + 1) / 2);
	worker_pool_set_queue_metric(api->password_workers,
	                             metrics_gauge(metrics, "waymark_password_jobs_queued",
	                                           "Password jobs waiting for a worker thread.",
	                                           NULL));
	api->title_workers = config->fetch_titles ? title_handlers_start() : NULL;
	api->zones = time_zones_new();
	api->exports = visit_export_limiter_new();
	api->route_metrics = routes_metrics_new(metrics);
	api->cross_site_requests = metrics_counter(
		metrics, "waymark_cross_site_requests_total",
		"Requests with a session, or logins for one, that were refused because "
		"another site sent them.",
		NULL);
	api->wrong_codes =
		metrics_counter(metrics, "waymark_wrong_codes_total",
	                        "Wrong codes of a second factor after the right password.", NULL);
	api->live = start_live_feed(api, metrics);
	api->health = health_probe_start(config->health_urls, api->clock);
	api->tracer = tracer_start(&config->tracing, "links-api", log, metrics);
	err = load_policies(api, metrics);
	if (err != OK) {
		log_error(log, "configuration_refused", LOG_TEXT("error", err_name(err)));
		api_free(api);
		return ERR_INVALID;
	}
	*out = api;
	return OK;
}

void api_free(struct api *api)
{
	if (!api)
		return;
	live_feed_stop(api->live);
	health_probe_stop(api->health);
	worker_pool_free(api->password_workers);
	title_handlers_stop(api->title_workers);
	oidc_client_free(api->oidc);
	host_guard_stop(api->hosts);
	reserved_slugs_free(api->reserved_slugs);
	http_logo_free(api->logo);
	host_policy_free(api->own_hosts);
	routes_metrics_free(api->route_metrics);
	tracer_stop(api->tracer);
	visit_export_limiter_free(api->exports);
	time_zones_free(api->zones);
	link_cache_free(api->cache);
	rate_limit_free(api->limits);
	redis_pool_free(api->redis);
	pg_pool_free(api->heavy_pg);
	pg_pool_free(api->pg);
	if (api->secrets)
		explicit_bzero(api->secrets, sizeof(*api->secrets));
	free(api->secrets);
	free(api->base);
	free(api);
}
