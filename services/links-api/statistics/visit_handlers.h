/* HTTP handler of the visit log of a link; ctx is the struct request. */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_VISIT_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_VISIT_HANDLERS_H

#include "lib/http/http_server.h"

/*
 * GET /api/links/{id}/visits. The format comes from format= or else from Accept:
 *   JSON         200 {visits: […], pagination: {limit, next_cursor}, log_since, as_of, lag_ms}
 *   CSV, NDJSON  200 with all matching visits (visit_page.h); as_of and lag_ms are the headers
 *                X-As-Of and X-Lag-Ms
 * 406; 429: too many exports; other errors as stats_request_answer_error.
 */
enum http_progress visit_handlers_list(void *ctx, struct http_exchange *x);

#endif
