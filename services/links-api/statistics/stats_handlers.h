/*
 * HTTP handlers of statistics; ctx is the struct request. They return what the analytics-consumer
 * has counted, and up to which time the counts are complete.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_STATS_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_STATS_HANDLERS_H

#include "lib/http/http_server.h"

/* All answer 200 (stats_json.h) or the errors of stats_request_answer_error. */

/* GET /api/links/{id}/stats: totals of all time, or of a range or filter */
enum http_progress stats_handlers_link(void *ctx, struct http_exchange *x);

/* GET /api/links/{id}/stats/timeseries */
enum http_progress stats_handlers_series(void *ctx, struct http_exchange *x);

/* GET /api/links/{id}/stats/{dimension} */
enum http_progress stats_handlers_dimension(void *ctx, struct http_exchange *x);

/*
 * GET /api/stats/summary, /api/stats/timeseries and /api/stats/{dimension}: the same for the
 * caller's links together
 */
enum http_progress stats_handlers_summary(void *ctx, struct http_exchange *x);
enum http_progress stats_handlers_series_of_links(void *ctx, struct http_exchange *x);
enum http_progress stats_handlers_dimension_of_links(void *ctx, struct http_exchange *x);

/*
 * GET /api/shared/stats/summary, /api/shared/stats/timeseries and /api/shared/stats/{dimension}:
 * the same for the links of a share. The share alone says which: tag= and filter= are unknown.
 */
enum http_progress stats_handlers_shared_summary(void *ctx, struct http_exchange *x);
enum http_progress stats_handlers_shared_series(void *ctx, struct http_exchange *x);
enum http_progress stats_handlers_shared_dimension(void *ctx, struct http_exchange *x);

/* GET /api/stats/top */
enum http_progress stats_handlers_top(void *ctx, struct http_exchange *x);

/* GET /api/stats: totals of the platform; public */
enum http_progress stats_handlers_platform(void *ctx, struct http_exchange *x);

#endif
