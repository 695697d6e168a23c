/*
 * One thread at a time. The range of time that a query means.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATS_STATS_RANGE_H
#define WAYMARK_SERVICES_LINKS_API_STATS_STATS_RANGE_H

#include "lib/clicks/statistics_range.h"
#include "lib/net/http_problem.h"
#include "lib/net/pg_conn.h"
#include "services/links-api/stats/stats_query.h"
#include "services/links-api/stats/zone_names.h"

/*
 * Without to, up to the end of the present hour; without from, the last 24 hours, 30 days, 12 weeks or 12 months before
 * to, the one of to among them, as the query's interval says. ERR_INVALID: wrong says what. Errors of pg_conn_query
 * pass through.
 */
enum err stats_range_find(struct pg_conn *conn, struct zone_names *zones, const struct stats_query *query,
                          int64_t now_us, struct statistics_span *out, struct http_problem_fields *wrong) MUST_CHECK;

#endif
