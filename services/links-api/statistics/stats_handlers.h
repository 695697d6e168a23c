/*
 * HTTP handlers of statistics; ctx is the struct request. They return what the analytics-consumer
 * has counted, and up to which time the counts are complete.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_STATS_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_STATS_HANDLERS_H

#include "lib/http/http_server.h"

/*
 * All answer 200 (stats_json.h) or the errors of stats_request_answer_error.
 *
 * The first three stand at the path of one link, of the caller's links together (/api/stats) and of
 * those of a share (/api/shared/stats).
 */

/* GET /api/links/{id}/stats, /api/stats/summary: totals of all time, or of a range or filter */
enum http_progress stats_handlers_summary(void *ctx, struct http_exchange *x);

/* GET …/timeseries */
enum http_progress stats_handlers_series(void *ctx, struct http_exchange *x);

/* GET …/{dimension} */
enum http_progress stats_handlers_dimension(void *ctx, struct http_exchange *x);

/* GET /api/stats/top */
enum http_progress stats_handlers_top(void *ctx, struct http_exchange *x);

/* GET /api/stats: totals of the platform; public */
enum http_progress stats_handlers_platform(void *ctx, struct http_exchange *x);

#endif
