#include "services/links-api/stats_json.h"

#include "lib/base/clock.h"

static struct json *latency_json(const struct welford *latency_ms)
{
	struct json *json = json_new_object();
	json_set_int(json, "count", latency_ms->n);
	json_set_real(json, "mean_ms", latency_ms->mean);
	json_set_real(json, "stddev_ms", welford_stddev(latency_ms));
	return json;
}

struct json *stats_json_of_link(const struct statistics *statistics, int64_t as_of_us, int64_t now_us)
{
	struct json *json = json_new_object();
	json_set_int(json, "link_id", statistics->link_id);
	json_set_int(json, "visit_count", statistics->visit_count);
	json_set_int(json, "bot_count", statistics->bot_count);
	json_set_int(json, "unique_visitors", statistics->unique_visitors);
	json_set_time(json, "last_visited_at", statistics->last_visited_at_us);
	json_set(json, "latency", latency_json(&statistics->latency_ms));
	json_set_time(json, "as_of", as_of_us);
	if (as_of_us == 0)
		json_set_null(json, "lag_ms");
	else
		json_set_int(json, "lag_ms", now_us > as_of_us ? (now_us - as_of_us) / CLOCK_US_PER_MS : 0);
	return json;
}

struct json *stats_json_of_platform(int64_t total_links, const struct statistics *statistics)
{
	struct json *json = json_new_object();
	json_set_int(json, "total_links", total_links);
	json_set_int(json, "total_redirects", statistics->visit_count + statistics->bot_count);
	json_set_real(json, "avg_latency_ms", statistics->latency_ms.mean);
	return json;
}
