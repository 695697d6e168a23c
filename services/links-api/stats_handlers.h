/*
 * Click path 9/9. HTTP handlers of statistics; ctx is the struct request. What the analytics-consumer has counted is told
 * to the link's owner, with the time up to which it is complete.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATS_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_STATS_HANDLERS_H

#include "lib/net/http_server.h"

/* GET /api/links/{id}/stats → 200 (stats_json.h), 404 */
enum http_progress stats_handlers_link(void *ctx, struct http_exchange *x);

/* GET /api/stats → 200 (stats_json.h); for everybody */
enum http_progress stats_handlers_platform(void *ctx, struct http_exchange *x);

#endif
