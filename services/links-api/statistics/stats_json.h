/*
 * Pure. Statistics as JSON. Everywhere humans counts visits of humans, bots those of bots, and
 * total both; unique_visitors counts humans. The parameter bots= changes none of them: it chooses
 * which values, links and visits are listed, and their order. The caller owns each result.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_STATS_JSON_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_STATS_JSON_H

#include <stdint.h>

#include "lib/clicks/statistics_store.h"
#include "lib/json/json.h"
#include "services/links-api/destinations/public_base.h"
#include "services/links-api/statistics/statistics_sql.h"

struct stats_request_params;

/* as_of_us 0 = nothing has been counted yet. */
struct stats_json_freshness {
	int64_t as_of_us;
	int64_t now_us;
};

/* Adds as_of and lag_ms. Both are null if nothing has been counted yet. */
void stats_json_add_freshness(struct json *answer, const struct stats_json_freshness *freshness);

/*
 * {link_id, humans, bots, total, unique_visitors, last_visited_at, latency: {count, mean_ms,
 * stddev_ms}, as_of, lag_ms}
 */
struct json *stats_json_of_link(const struct statistics *statistics,
                                const struct stats_json_freshness *freshness);

/*
 * {total_links, humans, bots, total, avg_latency_ms, as_of, lag_ms}. avg_latency_ms is 0 before the
 * first redirect.
 */
struct json *stats_json_of_platform(int64_t total_links, const struct statistics *statistics,
                                    const struct stats_json_freshness *freshness);

/*
 * The earlier period of a response with compare=. question NULL: the counts need the visit log,
 * which does not reach back that far; compared is then null.
 */
struct stats_json_earlier {
	const struct statistics_query *question;
	/* Of the range, the points or the listed values. */
	const struct statistics_sums *sums;
	/* Of the points. */
	const int64_t *starts;
	/* Of points. */
	size_t count;
	const struct statistics_sums *total;
};

/*
 * {link_id, from, to, humans, bots, total, unique_visitors, as_of, lag_ms}. Several links:
 * {links, …}, how many they are. With earlier: compared: {from, to, humans, …}. earlier may be NULL
 * here and below.
 */
struct json *stats_json_of_range(const struct statistics_query *question, int64_t link_count,
                                 const struct statistics_sums *sums,
                                 const struct stats_json_earlier *earlier,
                                 const struct stats_json_freshness *freshness);

/*
 * {interval, tz, from, to, points: [{start, humans, bots, total, unique_visitors}], as_of, lag_ms}.
 * With earlier: compared: {from, to, points}.
 */
struct json *stats_json_of_series(const struct statistics_query *question,
                                  const struct stats_request_params *params, const int64_t *starts,
                                  const struct statistics_sums *sums, size_t count,
                                  const struct stats_json_earlier *earlier,
                                  const struct stats_json_freshness *freshness);

/*
 * {dimension, from, to, items: [{value, humans, bots, total, unique_visitors}],
 * totals: {humans, bots, total, unique_visitors}, as_of, lag_ms}. With earlier: each item has
 * compared: {humans, …}, and so has the response: compared: {from, to, totals}.
 */
struct json *stats_json_of_values(const struct statistics_query *question,
                                  enum visit_dimension dimension,
                                  const struct statistics_value *values, size_t count,
                                  const struct statistics_sums *total,
                                  const struct stats_json_earlier *earlier,
                                  const struct stats_json_freshness *freshness);

/*
 * {from, to, links: [{id, slug, short_url, title, humans, bots, total, unique_visitors}], as_of,
 * lag_ms}
 */
struct json *stats_json_of_top(const struct statistics_query *question,
                               const struct statistics_top *links, size_t count,
                               const struct public_base *base,
                               const struct stats_json_freshness *freshness);

#endif
