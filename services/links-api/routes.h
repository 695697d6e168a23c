/*
 * The path of each request: match (route_table.h), authenticate, authorize, handle. Safe from any
 * thread.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ROUTES_H
#define WAYMARK_SERVICES_LINKS_API_ROUTES_H

#include <stddef.h>

#include "lib/base/metrics.h"
#include "lib/http/http_server.h"
#include "services/links-api/links/link_bulk.h"

#define ROUTES_BODY_BYTES_MAX LINK_BULK_BODY_BYTES_MAX

/* Callbacks of struct http_server_config; ctx is the struct api. */
enum http_progress routes_handle(void *ctx, struct http_exchange *x);
void routes_send_error(void *ctx, struct http_exchange *x, unsigned status, const char *detail);

/*
 * The largest body that x may send. Usually 32 KiB. Bulk endpoints, and shares with their logos, allow ROUTES_BODY_BYTES_MAX, but
 * only with credentials that look valid without asking the database. A larger body without them
 * gets 401.
 */
size_t routes_body_limit(void *ctx, struct http_exchange *x);

/*
 * Confirms the credentials of a request with a large body in the database, before the body is read.
 * Invented API keys therefore take no memory.
 */
bool routes_admit_body(void *ctx, struct http_exchange *x);

/*
 * Request rate, errors and duration per route. Labels hold the route's pattern, never the requested
 * path, whose number is unlimited; both are "" for requests that match no route.
 *
 *   waymark_api_requests_total{method="GET",route="/api/links/{id}",code="2xx"}
 *   waymark_api_request_seconds{method="GET",route="/api/links/{id}"}
 */
struct routes_metrics *routes_metrics_new(struct metrics *metrics);
/* Call after the last scrape: the series borrow their labels from this object. NULL is allowed. */
void routes_metrics_free(struct routes_metrics *routes);

/* Counts each completed request and writes one line. Never logs an address, a token or a query string. */
void routes_log(void *ctx, const struct http_exchange *x, unsigned status, int64_t duration_us);

#endif
