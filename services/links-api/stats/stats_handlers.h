/*
 * Click path 9/9. HTTP handlers of statistics; ctx is the struct request. What the analytics-consumer has counted is
 * told to the link's owner, with the time up to which it is complete.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATS_STATS_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_STATS_STATS_HANDLERS_H

#include "lib/net/http_server.h"

/* All of them: 200 (stats_json.h), or as stats_asking_answer_failure says. */

/* GET /api/links/{id}/stats: of all time, or of a range or a filter */
enum http_progress stats_handlers_link(void *ctx, struct http_exchange *x);

/* GET /api/links/{id}/stats/timeseries */
enum http_progress stats_handlers_series(void *ctx, struct http_exchange *x);

/* GET /api/links/{id}/stats/{dimension} */
enum http_progress stats_handlers_dimension(void *ctx, struct http_exchange *x);

/* GET /api/stats/top */
enum http_progress stats_handlers_top(void *ctx, struct http_exchange *x);

/* GET /api/stats; for everybody */
enum http_progress stats_handlers_platform(void *ctx, struct http_exchange *x);

#endif
