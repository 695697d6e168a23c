/*
 * HTTP handler of single visits; ctx is the struct request.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATS_VISIT_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_STATS_VISIT_HANDLERS_H

#include "lib/net/http_server.h"

/*
 * GET /api/links/{id}/visits → 200 {visits: […], pagination: {limit, next_cursor}, log_since, as_of, lag_ms}, or, as
 * format or else Accept wants, text/csv or application/x-ndjson (visit_lines.h) of all that match, with as_of and lag_ms as X-As-Of
 * and X-Lag-Ms; 406; 429: too many exports; otherwise as stats_asking_answer_failure says.
 */
enum http_progress visit_handlers_list(void *ctx, struct http_exchange *x);

#endif
