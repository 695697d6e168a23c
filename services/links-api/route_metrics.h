/*
 * Safe from any thread. Rate, errors and duration of each row of the table of endpoints, by its pattern: never by the
 * path that was asked for, of which there is no end.
 *
 *   waymark_api_requests_total{method="GET",route="/api/links/{id}",code="2xx"}
 *   waymark_api_request_seconds{method="GET",route="/api/links/{id}"}
 *
 * Requests that no row is meant for have method="" and route="".
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ROUTE_METRICS_H
#define WAYMARK_SERVICES_LINKS_API_ROUTE_METRICS_H

#include "lib/base/metrics.h"
#include "lib/net/http_router.h"

struct route_metrics;

/* Of the rows of routes_table. */
struct route_metrics *route_metrics_new(struct metrics *metrics);
/* After the last rendering: the series borrow their labels from here. */
void route_metrics_free(struct route_metrics *routes);

/* route: a row of routes_table, or NULL. */
void route_metrics_count(struct route_metrics *routes, const struct http_route *route, unsigned status,
                         int64_t duration_us);

#endif
