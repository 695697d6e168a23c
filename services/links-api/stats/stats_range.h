/*
 * One thread at a time. Computes the time range of a statistics request.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATS_STATS_RANGE_H
#define WAYMARK_SERVICES_LINKS_API_STATS_STATS_RANGE_H

#include "lib/clicks/statistics_range.h"
#include "lib/net/http_problem.h"
#include "lib/net/pg_conn.h"
#include "services/links-api/stats/stats_params.h"
#include "services/links-api/stats/zone_names.h"

/*
 * The default of to is the end of the current hour. The default of from is 24 hours, 30 days, 12
 * weeks or 12 months before to, depending on the interval; the interval that contains to counts as
 * the first. ERR_INVALID: the zone is unknown or the range is empty; wrong says why. Errors of
 * pg_conn_query pass through.
 */
enum err stats_range_find(struct pg_conn *conn, struct zone_names *zones, const struct stats_params *params,
                          int64_t now_us, struct statistics_span *out, struct http_problem_fields *wrong) MUST_CHECK;

#endif
