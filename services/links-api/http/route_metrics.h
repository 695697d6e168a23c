/*
 * Request rate, errors and duration per route. Labels hold the route's pattern, never the requested
 * path, whose number is unlimited. Safe from any thread.
 *
 *   waymark_api_requests_total{method="GET",route="/api/links/{id}",code="2xx"}
 *   waymark_api_request_seconds{method="GET",route="/api/links/{id}"}
 *
 * Requests that match no route have method="" and route="".
 */
#ifndef WAYMARK_SERVICES_LINKS_API_HTTP_ROUTE_METRICS_H
#define WAYMARK_SERVICES_LINKS_API_HTTP_ROUTE_METRICS_H

#include "lib/base/metrics.h"
#include "lib/http/http_router.h"

struct route_metrics;

/* Registers one series per row. table is borrowed. */
struct route_metrics *route_metrics_new(const struct http_route *table, size_t count,
                                        struct metrics *metrics);
/* Call after the last scrape: the series borrow their labels from this object. */
void route_metrics_free(struct route_metrics *routes);

/* route: a row of the table, or NULL if none matched. */
void route_metrics_count(struct route_metrics *routes, const struct http_route *route,
                         unsigned status, int64_t duration_us);

#endif
