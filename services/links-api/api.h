/*
 * Safe from any thread after api_new. What the handlers work with: made at start, borrowed by every request.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_API_H
#define WAYMARK_SERVICES_LINKS_API_API_H

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/base/worker_pool.h"
#include "lib/links/host_guard.h"
#include "lib/links/link_cache.h"
#include "lib/net/client_ip.h"
#include "lib/net/pg_pool.h"
#include "lib/net/redis_pool.h"
#include "services/links-api/access/secret_list.h"
#include "services/links-api/config.h"
#include "services/links-api/cors.h"
#include "services/links-api/destinations/public_base.h"
#include "services/links-api/links/slug_reserve.h"
#include "services/links-api/lists/list_cache.h"
#include "services/links-api/route_metrics.h"
#include "services/links-api/stats/export_desk.h"
#include "services/links-api/stats/zone_names.h"

struct api {
	const struct config *config;
	const struct clock *clock;
	const struct log *log;
	struct public_base base;
	struct client_ip_ranges trusted;
	struct cors cors;
	struct secret_list secrets;
	struct pg_pool *pg;
	struct redis_pool *redis;
	struct link_cache *cache;
	struct list_cache *lists;
	struct worker_pool *password_workers;
	struct zone_names *zones;
	struct export_desk *exports;
	struct route_metrics *routes;
	struct host_policy *own_hosts; /* these three stand behind base */
	struct host_guard *hosts;
	struct slug_reserve *reserved_slugs;
};

/* Works without PostgreSQL and Redis. ERR_INVALID: what config's check refuses (logged). config is borrowed. */
enum err api_new(const struct config *config, const struct log *log, struct metrics *metrics,
                 struct api **out) MUST_CHECK;

/* After the HTTP server has stopped: jobs of password_workers that still run use the rest. NULL may be freed. */
void api_free(struct api *api);

#endif
