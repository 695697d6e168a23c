/*
 * Pure. Statistics as the API tells them.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATS_JSON_H
#define WAYMARK_SERVICES_LINKS_API_STATS_JSON_H

#include <stdint.h>

#include "lib/clicks/statistics_store.h"
#include "lib/net/json.h"

/*
 * {link_id, visit_count, bot_count, unique_visitors, last_visited_at, latency: {count, mean_ms, stddev_ms}, as_of, lag_ms}.
 * as_of_us 0 = nothing was ever counted: as_of and lag_ms are null. The caller owns it.
 */
struct json *stats_json_of_link(const struct statistics *statistics, int64_t as_of_us, int64_t now_us);

/* {total_links, total_redirects, avg_latency_ms}: redirects of humans and bots; 0 ms before the first. */
struct json *stats_json_of_platform(int64_t total_links, const struct statistics *statistics);

#endif
