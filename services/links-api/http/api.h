/*
 * Everything the handlers share: configuration, clients, caches and limits. Created at start,
 * borrowed by every request. Safe from any thread after api_new. Every room reads it, so it stands
 * on the lowest floor and names the structs of other rooms only; api.c, which creates them, stands
 * on the top one.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_HTTP_API_H
#define WAYMARK_SERVICES_LINKS_API_HTTP_API_H

#include "lib/base/client_ip.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/base/worker_pool.h"
#include "lib/links/host_guard.h"
#include "lib/links/link_cache.h"
#include "lib/postgres/pg_pool.h"
#include "lib/redis/redis_pool.h"
#include "lib/tracing/tracer.h"
#include "services/links-api/http/config.h"
#include "services/links-api/http/cors.h"
#include "services/links-api/http/rate_limit.h"

struct health_probe;
struct access_token_secrets;
struct live_feed;
struct oidc_client;
struct outbox_relay;
struct public_base;
struct reserved_slugs;
struct http_logo;
struct time_zones;
struct routes_metrics;
struct visit_export_limiter;

struct api {
	const struct config *config;
	const struct clock *clock;
	const struct log *log;
	struct public_base *base;
	/* PUBLIC_BASE_URL uses https, so that browsers may keep secrets for us. */
	bool is_https;
	struct client_ip_ranges trusted;
	struct cors cors;
	/* NULL: none. */
	struct http_logo *logo;
	struct access_token_secrets *secrets;
	struct pg_pool *pg;
	/* For statements that may take long: request_pg. */
	struct pg_pool *heavy_pg;
	struct redis_pool *redis;
	struct rate_limit *limits;
	struct link_cache *cache;
	struct worker_pool *password_workers;
	/* That request pages; NULL: FETCH_TITLES is off. */
	struct worker_pool *title_workers;
	struct time_zones *zones;
	struct visit_export_limiter *exports;
	struct routes_metrics *route_metrics;
	/* NULL: no spans. */
	struct tracer *tracer;
	struct metric *cross_site_requests;
	struct metric *wrong_codes;
	struct live_feed *live;
	struct oidc_client *oidc;
	struct health_probe *health;
	/* Set when it has started; outlives all requests. */
	const struct outbox_relay *relay;
	/* base borrows these three. */
	struct host_policy *own_hosts;
	struct host_guard *hosts;
	struct reserved_slugs *reserved_slugs;
};

/*
 * Does not need PostgreSQL or Redis to be up. config is borrowed. ERR_INVALID: a setting that
 * config's check also rejects (logged).
 */
enum err api_new(const struct config *config, const struct log *log, struct metrics *metrics,
                 struct api **out) MUST_CHECK;

/*
 * Call after the HTTP server has stopped. Waits for running password jobs, which use the other
 * members. NULL is allowed.
 */
void api_free(struct api *api);

#endif
