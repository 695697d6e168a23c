#include "services/links-api/statistics/stats_json.h"

#include <math.h>

#include "lib/base/clock.h"
#include "lib/base/timestamp.h"
#include "services/links-api/statistics/stats_request.h"

void stats_json_add_freshness(struct json *answer, const struct stats_json_freshness *freshness)
{
	int64_t lag_us = freshness->now_us - freshness->as_of_us;
	json_set_time(answer, "as_of", freshness->as_of_us);
	if (freshness->as_of_us == 0)
		json_set_null(answer, "lag_ms");
	else
		json_set_int(answer, "lag_ms", lag_us > 0 ? lag_us / CLOCK_US_PER_MS : 0);
}

/* In whole microseconds, in which latencies are measured. */
static void set_ms(struct json *json, const char *name, double ms)
{
	json_set_real(json, name, round(ms * 1000) / 1000);
}

static struct json *latency_json(const struct welford *latency_ms)
{
	struct json *json = json_new_object();
	json_set_int(json, "count", latency_ms->n);
	set_ms(json, "mean_ms", latency_ms->mean);
	set_ms(json, "stddev_ms", welford_stddev(latency_ms));
	return json;
}

static void set_counts(struct json *json, int64_t humans, int64_t bots)
{
	json_set_int(json, "humans", humans);
	json_set_int(json, "bots", bots);
	json_set_int(json, "total", humans + bots);
}

static void set_sums(struct json *json, const struct statistics_sums *sums)
{
	set_counts(json, sums->humans, sums->bots);
	json_set_int(json, "unique_visitors", sums->uniques);
}

struct json *stats_json_of_link(const struct statistics *statistics,
                                const struct stats_json_freshness *freshness)
{
	struct json *json = json_new_object();
	json_set_int(json, "link_id", statistics->link_id);
	set_counts(json, statistics->visit_count, statistics->bot_count);
	json_set_int(json, "unique_visitors", statistics->unique_visitors);
	json_set_time(json, "last_visited_at", statistics->last_visited_at_us);
	json_set(json, "latency", latency_json(&statistics->latency_ms));
	stats_json_add_freshness(json, freshness);
	return json;
}

struct json *stats_json_of_platform(int64_t total_links, const struct statistics *statistics,
                                    const struct stats_json_freshness *freshness)
{
	struct json *json = json_new_object();
	json_set_int(json, "total_links", total_links);
	set_counts(json, statistics->visit_count, statistics->bot_count);
	set_ms(json, "avg_latency_ms", statistics->latency_ms.mean);
	stats_json_add_freshness(json, freshness);
	return json;
}

/* Unlike json_set_time, writes 0 as 1970 and not as null. */
static void set_time(struct json *json, const char *name, int64_t time_us)
{
	char text[TIMESTAMP_TEXT_SIZE];
	timestamp_format_ms(time_us, text);
	json_set_text(json, name, text);
}

static void set_range(struct json *json, const struct statistics_query *question)
{
	set_time(json, "from", question->counted.from_us);
	set_time(json, "to", question->counted.to_us);
}

static struct json *sums_json(const struct statistics_sums *sums)
{
	struct json *json = json_new_object();
	set_sums(json, sums);
	return json;
}

static struct json *points_json(const int64_t *starts, const struct statistics_sums *sums,
                                size_t count)
{
	struct json *points = json_new_array();
	for (size_t i = 0; i < count; i++) {
		struct json *point = json_new_object();
		set_time(point, "start", starts[i]);
		set_sums(point, &sums[i]);
		json_append(points, point);
	}
	return points;
}

/* Adds compared and returns it for its counts. NULL: there is nothing to add. */
static struct json *add_compared(struct json *json, const struct stats_json_earlier *earlier)
{
	if (!earlier)
		return NULL;
	if (!earlier->question) {
		json_set_null(json, "compared");
		return NULL;
	}
	struct json *compared = json_new_object();
	set_range(compared, earlier->question);
	json_set(json, "compared", compared);
	return compared;
}

struct json *stats_json_of_range(const struct statistics_query *question, int64_t link_count,
                                 const struct statistics_sums *sums,
                                 const struct stats_json_earlier *earlier,
                                 const struct stats_json_freshness *freshness)
{
	struct json *json = json_new_object();
	if (question->link_id != 0)
		json_set_int(json, "link_id", question->link_id);
	else
		json_set_int(json, "links", link_count);
	set_range(json, question);
	set_sums(json, sums);
	struct json *compared = add_compared(json, earlier);
	if (compared)
		set_sums(compared, earlier->sums);
	stats_json_add_freshness(json, freshness);
	return json;
}

struct json *stats_json_of_series(const struct statistics_query *question,
                                  const struct stats_request_params *params, const int64_t *starts,
                                  const struct statistics_sums *sums, size_t count,
                                  const struct stats_json_earlier *earlier,
                                  const struct stats_json_freshness *freshness)
{
	struct json *json = json_new_object();
	json_set_text(json, "interval", local_calendar_interval_name(params->interval));
	json_set_text(json, "tz", params->zone);
	set_range(json, question);
	json_set(json, "points", points_json(starts, sums, count));
	struct json *compared = add_compared(json, earlier);
	if (compared)
		json_set(compared, "points",
		         points_json(earlier->starts, earlier->sums, earlier->count));
	stats_json_add_freshness(json, freshness);
	return json;
}

struct json *stats_json_of_values(const struct statistics_query *question,
                                  enum visit_dimension dimension,
                                  const struct statistics_value *values, size_t count,
                                  const struct statistics_sums *total,
                                  const struct stats_json_earlier *earlier,
                                  const struct stats_json_freshness *freshness)
{
	bool has_earlier = earlier && earlier->question;
	struct json *items = json_new_array();
	for (size_t i = 0; i < count; i++) {
		struct json *item = json_new_object();
		json_set_text(item, "value", values[i].value);
		set_sums(item, &values[i].sums);
		if (has_earlier)
			json_set(item, "compared", sums_json(&earlier->sums[i]));
		json_append(items, item);
	}
	struct json *json = json_new_object();
	json_set_text(json, "dimension", visit_dimension_name(dimension));
	set_range(json, question);
	json_set(json, "items", items);
	json_set(json, "totals", sums_json(total));
	struct json *compared = add_compared(json, earlier);
	if (compared)
		json_set(compared, "totals", sums_json(earlier->total));
	stats_json_add_freshness(json, freshness);
	return json;
}

struct json *stats_json_of_top(const struct statistics_query *question,
                               const struct statistics_top *links, size_t count,
                               const struct public_base *base,
                               const struct stats_json_freshness *freshness)
{
	struct json *items = json_new_array();
	for (size_t i = 0; i < count; i++) {
		char short_url[PUBLIC_BASE_SHORT_URL_SIZE];
		public_base_short_url(base, links[i].slug, short_url);
		struct json *item = json_new_object();
		json_set_int(item, "id", links[i].link_id);
		json_set_text(item, "slug", links[i].slug);
		json_set_text(item, "short_url", short_url);
		json_set_text(item, "title", links[i].title);
		set_sums(item, &links[i].sums);
		json_append(items, item);
	}
	struct json *json = json_new_object();
	set_range(json, question);
	json_set(json, "links", items);
	stats_json_add_freshness(json, freshness);
	return json;
}
