/*
 * Everything the handlers share: configuration, clients, caches and limits. Created at start,
 * borrowed by every request. Safe from any thread after api_new.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_API_H
#define WAYMARK_SERVICES_LINKS_API_API_H

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
#include "services/links-api/access/jwt_secrets.h"
#include "services/links-api/config.h"
#include "services/links-api/cors.h"
#include "services/links-api/destinations/public_base.h"
#include "services/links-api/health/health_monitor.h"
#include "services/links-api/links/reserved_slugs.h"
#include "services/links-api/live/live_feed.h"
#include "services/links-api/outbox/outbox_relay.h"
#include "services/links-api/rate_limit.h"
#include "services/links-api/route_metrics.h"
#include "services/links-api/stats/export_limiter.h"
#include "services/links-api/stats/zone_names.h"

struct api {
	const struct config *config;
	const struct clock *clock;
	const struct log *log;
	struct public_base base;
	struct client_ip_ranges trusted;
	struct cors cors;
	struct jwt_secrets secrets;
	struct pg_pool *pg;
	struct pg_pool *heavy_pg; /* for statements that may take long: request_pg */
	struct redis_pool *redis;
	struct rate_limit *limits;
	struct link_cache *cache;
	struct worker_pool *password_workers;
	struct zone_names *zones;
	struct export_limiter *exports;
	struct route_metrics *route_metrics;
	struct tracer *tracer; /* NULL: no spans */
	struct metric *cross_site_requests;
	struct live_feed *live;
	struct health_monitor *health;
	const struct outbox_relay *relay; /* set when it has started; outlives all requests */
	struct host_policy *own_hosts;    /* base borrows these three */
	struct host_guard *hosts;
	struct reserved_slugs *reserved_slugs;
};

/*
 * Does not need PostgreSQL or Redis to be up. config and routes, the route table, are borrowed.
 * ERR_INVALID: a setting that config's check also rejects (logged).
 */
enum err api_new(const struct config *config, const struct http_route *routes, size_t route_count,
                 const struct log *log, struct metrics *metrics, struct api **out) MUST_CHECK;

/* True if PUBLIC_BASE_URL uses https, so that browsers may keep secrets for us. */
bool api_is_https(const struct api *api);

/*
 * Call after the HTTP server has stopped. Waits for running password jobs, which use the other
 * members. NULL is allowed.
 */
void api_free(struct api *api);

#endif
