#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/timestamp.h"
#include "lib/clicks/statistics_store.h"
#include "lib/links/link_store.h"
#include "services/links-api/destinations/public_base.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/response.h"
#include "services/links-api/lists/link_list_store.h"
#include "services/links-api/statistics/stats_request.h"

#define VALUES_DEFAULT 10
#define TOP_DEFAULT 10

/* Whose visits an endpoint counts. */
enum subject {
	/* That of the path. */
	ONE_LINK,
	/* The caller's that match tag= and filter=. */
	CHOSEN_LINKS,
	/* Those of the share, which alone says which: tag= and filter= are unknown. */
	SHARED_LINKS,
};

/* One endpoint. count fills the part of its result that belongs to the question. */
struct endpoint {
	struct stats_request_terms terms;
	/* Even without a filter. */
	bool needs_log;
	/* question: the request's, and with compare= then its earlier one. */
	enum err (*count)(struct stats_request *stats, struct pg_conn *conn,
	                  struct statistics_query *question, void *result);
	/* Adds the result to json, and that of the earlier period to compared, unless that is NULL. */
	void (*render)(const struct stats_request *stats, const void *result, struct json *json,
	               struct json *compared);
};

/*
 * Everywhere humans counts visits of humans, bots those of bots, and total both; unique_visitors
 * counts humans. The parameter bots= changes none of them: it chooses which values, links and visits
 * are listed, and their order.
 */
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

static struct json *sums_json(const struct statistics_sums *sums)
{
	struct json *json = json_new_object();
	set_sums(json, sums);
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

static enum subject subject_of(const struct request *r)
{
	if (r->share)
		return SHARED_LINKS;
	return strstr(r->match.route->pattern, "{id}") ? ONE_LINK : CHOSEN_LINKS;
}

static enum err find_subject(struct stats_request *stats, struct pg_conn *conn)
{
	switch (subject_of(stats->request)) {
	case ONE_LINK:
		return stats_request_find_link(stats, conn);
	case CHOSEN_LINKS:
		return stats_request_find_links(stats, conn);
	case SHARED_LINKS:
		return stats_request_find_shared_links(stats, conn);
	}
	return OK;
}

static bool compares(const struct stats_request *stats)
{
	return stats->params.compare != STATS_REQUEST_COMPARE_NONE;
}

static enum err count(struct stats_request *stats, struct pg_conn *conn,
                      const struct endpoint *endpoint, void *result)
{
	enum err err = endpoint->count(stats, conn, &stats->question, result);
	if (err != OK || !compares(stats))
		return err;
	err = stats_request_find_earlier(stats, conn);
	if (err != OK)
		return err;
	err = endpoint->count(stats, conn, &stats->earlier, result);
	stats->is_earlier_counted = err == OK;
	return err == ERR_NOT_FOUND ? OK : err;
}

/* Reads as_of before the counts: they may include more than as_of promises, but never less. */
static enum err load_with(struct stats_request *stats, struct pg_conn *conn,
                          const struct endpoint *endpoint, void *result)
{
	stats->needs_log = stats->needs_log || endpoint->needs_log;
	enum err err = find_subject(stats, conn);
	if (err == OK)
		err = statistics_store_as_of(conn, &stats->as_of_us);
	if (err == OK)
		err = stats_request_find_range(stats, conn);
	return err == OK ? count(stats, conn, endpoint, result) : err;
}

static enum err load(struct stats_request *stats, struct request *r,
                     const struct endpoint *endpoint, void *result)
{
	struct pg_conn *conn = NULL;
	struct stats_request_terms terms = endpoint->terms;
	if (subject_of(r) == CHOSEN_LINKS)
		terms.parts |= STATS_REQUEST_LINKS;
	enum err err = stats_request_read(stats, r, &terms);
	if (err == OK)
		err = pg_pool_acquire(request_pg(r), &conn);
	if (err == OK)
		err = load_with(stats, conn, endpoint, result);
	pg_pool_release(request_pg(r), conn);
	return err;
}

/*
 * With compare=, compared is null if the earlier counts need the visit log, which does not reach back
 * that far.
 */
static struct json *render(const struct stats_request *stats, const struct endpoint *endpoint,
                           const void *result)
{
	struct json *json = json_new_object();
	struct json *compared = stats->is_earlier_counted ? json_new_object() : NULL;
	if (compared)
		set_range(compared, &stats->earlier);
	endpoint->render(stats, result, json, compared);
	if (compared)
		json_set(json, "compared", compared);
	else if (compares(stats))
		json_set_null(json, "compared");
	response_add_freshness(json, stats->as_of_us, stats->now_us);
	return json;
}

static enum http_progress run(struct request *r, const struct endpoint *endpoint, void *result)
{
	struct stats_request *stats = mem_zero(sizeof(*stats));
	enum err err = load(stats, r, endpoint, result);
	enum http_progress progress =
		err == OK ? response_json(r, 200, render(stats, endpoint, result))
			  : stats_request_answer_error(stats, err);
	stats_request_clear(stats);
	free(stats);
	return progress;
}

/* --- totals --- */

struct totals {
	bool is_range;
	struct statistics statistics;
	struct statistics_sums sums, earlier;
};

/* One link without a range or filter: the totals of all time. */
static enum err count_totals(struct stats_request *stats, struct pg_conn *conn,
                             struct statistics_query *question, void *result)
{
	struct totals *totals = result;
	const struct stats_request_params *params = &stats->params;
	totals->is_range = params->from.is_given || params->to.is_given ||
	                   params->filter.count > 0 || compares(stats) || question->link_id == 0;
	if (!totals->is_range)
		return statistics_store_get(conn, question->link_id, &totals->statistics);
	return statistics_series_total(
		conn, question, question == &stats->earlier ? &totals->earlier : &totals->sums);
}

/* {link_id, humans, bots, total, unique_visitors, last_visited_at, latency: {count, mean_ms, stddev_ms}} */
static void render_all_time(const struct statistics *statistics, struct json *json)
{
	const struct welford *latency_ms = &statistics->latency_ms;
	struct json *latency = json_new_object();
	json_set_int(latency, "count", latency_ms->n);
	response_set_ms(latency, "mean_ms", latency_ms->mean);
	response_set_ms(latency, "stddev_ms", statistics_store_welford_stddev(latency_ms));
	json_set_int(json, "link_id", statistics->link_id);
	set_counts(json, statistics->visit_count, statistics->bot_count);
	json_set_int(json, "unique_visitors", statistics->unique_visitors);
	json_set_time(json, "last_visited_at", statistics->last_visited_at_us);
	json_set(json, "latency", latency);
}

/* {link_id, from, to, humans, bots, total, unique_visitors}; several links: {links, …}, how many */
static void render_totals(const struct stats_request *stats, const void *result, struct json *json,
                          struct json *compared)
{
	const struct totals *totals = result;
	if (!totals->is_range) {
		render_all_time(&totals->statistics, json);
		return;
	}
	if (stats->question.link_id != 0)
		json_set_int(json, "link_id", stats->question.link_id);
	else
		json_set_int(json, "links", stats->link_count);
	set_range(json, &stats->question);
	set_sums(json, &totals->sums);
	if (compared)
		set_sums(compared, &totals->earlier);
}

enum http_progress stats_handlers_summary(void *ctx, struct http_exchange *x)
{
	static const struct endpoint endpoint = {
		{ .parts = STATS_REQUEST_FILTERS | STATS_REQUEST_COMPARE },
		.count = count_totals,
		.render = render_totals,
	};
	(void)x;
	struct totals totals = { 0 };
	return run(ctx, &endpoint, &totals);
}

/* --- time series --- */

struct points {
	size_t count;
	int64_t starts[STATISTICS_POINTS_MAX];
	struct statistics_sums sums[STATISTICS_POINTS_MAX];
};

struct series {
	struct points points, earlier;
};

static enum err count_series(struct stats_request *stats, struct pg_conn *conn,
                             struct statistics_query *question, void *result)
{
	struct series *series = result;
	struct points *points = question == &stats->earlier ? &series->earlier : &series->points;
	enum err err = local_calendar_starts(conn, question->requested, stats->params.zone,
	                                     stats->params.interval, points->starts,
	                                     STATISTICS_POINTS_MAX, &points->count);
	if (err == ERR_LIMIT)
		http_problem_add_field(
			&stats->wrong, "/interval", "range",
			"gives more than %d points; use a longer interval or a shorter range",
			STATISTICS_POINTS_MAX);
	if (err != OK)
		return err;
	return statistics_series(conn, question, points->starts, points->count, points->sums);
}

static struct json *points_json(const struct points *points)
{
	struct json *array = json_new_array();
	for (size_t i = 0; i < points->count; i++) {
		struct json *point = json_new_object();
		set_time(point, "start", points->starts[i]);
		set_sums(point, &points->sums[i]);
		json_append(array, point);
	}
	return array;
}

/* {interval, tz, from, to, points: [{start, humans, bots, total, unique_visitors}]} */
static void render_series(const struct stats_request *stats, const void *result, struct json *json,
                          struct json *compared)
{
	const struct series *series = result;
	json_set_text(json, "interval", local_calendar_interval_name(stats->params.interval));
	json_set_text(json, "tz", stats->params.zone);
	set_range(json, &stats->question);
	json_set(json, "points", points_json(&series->points));
	if (compared)
		json_set(compared, "points", points_json(&series->earlier));
}

enum http_progress stats_handlers_series(void *ctx, struct http_exchange *x)
{
	static const struct endpoint endpoint = {
		{ .parts = STATS_REQUEST_INTERVAL | STATS_REQUEST_FILTERS | STATS_REQUEST_COMPARE },
		.count = count_series,
		.render = render_series,
	};
	(void)x;
	struct series *series = mem_zero(sizeof(*series));
	enum http_progress progress = run(ctx, &endpoint, series);
	free(series);
	return progress;
}

/* --- values of a dimension --- */

struct values {
	enum visit_dimension dimension;
	size_t count;
	struct statistics_sums total, earlier_total;
	struct statistics_value values[STATISTICS_VALUES_MAX];
	/* Of the same values. */
	struct statistics_sums earlier[STATISTICS_VALUES_MAX];
};

static enum err count_values(struct stats_request *stats, struct pg_conn *conn,
                             struct statistics_query *question, void *result)
{
	struct values *values = result;
	if (question == &stats->earlier)
		return statistics_values_of(conn, question, values->dimension, values->values,
		                            values->count, values->earlier, &values->earlier_total);
	return statistics_values(conn, question, values->dimension, (size_t)stats->params.limit,
	                         values->values, &values->count, &values->total);
}

/*
 * {dimension, from, to, items: [{value, humans, bots, total, unique_visitors}], totals}. With compare=,
 * each item has compared: {humans, …}.
 */
static void render_values(const struct stats_request *stats, const void *result, struct json *json,
                          struct json *compared)
{
	const struct values *values = result;
	struct json *items = json_new_array();
	for (size_t i = 0; i < values->count; i++) {
		struct json *item = json_new_object();
		json_set_text(item, "value", values->values[i].value);
		set_sums(item, &values->values[i].sums);
		if (compared)
			json_set(item, "compared", sums_json(&values->earlier[i]));
		json_append(items, item);
	}
	json_set_text(json, "dimension", visit_dimension_name(values->dimension));
	set_range(json, &stats->question);
	json_set(json, "items", items);
	json_set(json, "totals", sums_json(&values->total));
	if (compared)
		json_set(compared, "totals", sums_json(&values->earlier_total));
}

static enum http_progress answer_unknown_dimension(struct request *r)
{
	char detail[RESPONSE_DETAIL_SIZE];
	size_t len = (size_t)snprintf(detail, sizeof(detail), "Unknown dimension. There are");
	for (enum visit_dimension d = VISIT_DIMENSION_FIRST; d < VISIT_DIMENSION_END; d++)
		len += (size_t)snprintf(detail + len, sizeof(detail) - len, "%s %s",
		                        d > VISIT_DIMENSION_FIRST ? "," : "",
		                        visit_dimension_name(d));
	snprintf(detail + len, sizeof(detail) - len, ".");
	return response_problem(r, 404, "unknown-dimension", detail);
}

enum http_progress stats_handlers_dimension(void *ctx, struct http_exchange *x)
{
	struct endpoint endpoint = {
		{ STATS_REQUEST_LIMIT | STATS_REQUEST_FILTERS | STATS_REQUEST_BOTS |
		          STATS_REQUEST_COMPARE,
		  VALUES_DEFAULT, STATISTICS_VALUES_MAX },
		.count = count_values,
		.render = render_values,
	};
	(void)x;
	struct request *r = ctx;
	struct values *values = mem_zero(sizeof(*values));
	const char *name = r->match.params[subject_of(r) == ONE_LINK ? 1 : 0];
	bool is_there = visit_dimension_parse(name, &values->dimension) == OK;
	endpoint.needs_log = is_there && !visit_dimension_is_rolled_up(values->dimension);
	enum http_progress progress =
		is_there ? run(r, &endpoint, values) : answer_unknown_dimension(r);
	free(values);
	return progress;
}

/* --- the most visited links --- */

struct top_links {
	size_t count;
	struct statistics_top links[STATISTICS_TOP_MAX];
};

static enum err count_top(struct stats_request *stats, struct pg_conn *conn,
                          struct statistics_query *question, void *result)
{
	struct top_links *top = result;
	return statistics_top(conn, question, (size_t)stats->params.limit, top->links, &top->count);
}

/* Readers of a share see no id. {from, to, links: [{id, slug, short_url, title, humans, bots, total, unique_visitors}]} */
static void render_top(const struct stats_request *stats, const void *result, struct json *json,
                       struct json *compared)
{
	(void)compared;
	const struct top_links *top = result;
	struct json *items = json_new_array();
	for (size_t i = 0; i < top->count; i++) {
		const struct statistics_top *link = &top->links[i];
		char short_url[PUBLIC_BASE_SHORT_URL_SIZE];
		public_base_short_url(stats->request->api->base, link->slug, short_url);
		struct json *item = json_new_object();
		if (!stats->request->share)
			json_set_int(item, "id", link->link_id);
		json_set_text(item, "slug", link->slug);
		json_set_text(item, "short_url", short_url);
		json_set_text(item, "title", link->title);
		set_sums(item, &link->sums);
		json_append(items, item);
	}
	set_range(json, &stats->question);
	json_set(json, "links", items);
}

enum http_progress stats_handlers_top(void *ctx, struct http_exchange *x)
{
	static const struct endpoint endpoint = {
		{ STATS_REQUEST_LIMIT | STATS_REQUEST_FILTERS | STATS_REQUEST_BOTS |
		          STATS_REQUEST_LAST_DAY,
		  TOP_DEFAULT, STATISTICS_TOP_MAX },
		.count = count_top,
		.render = render_top,
	};
	(void)x;
	struct top_links *top = mem_zero(sizeof(*top));
	enum http_progress progress = run(ctx, &endpoint, top);
	free(top);
	return progress;
}

/* --- the platform --- */

struct platform {
	int64_t total_links, as_of_us;
	struct statistics statistics;
};

static enum err load_platform(struct pg_conn *conn, struct platform *platform)
{
	enum err err =
		link_list_store_count(conn, LINK_STORE_ANY_WORKSPACE, &platform->total_links);
	if (err == OK)
		err = statistics_store_as_of(conn, &platform->as_of_us);
	return err == OK ? statistics_store_get(conn, STATISTICS_STORE_PLATFORM,
	                                        &platform->statistics)
	                 : err;
}

/* {total_links, humans, bots, total, avg_latency_ms}; avg_latency_ms is 0 before the first redirect */
enum http_progress stats_handlers_platform(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	int64_t now_us = request_now_us(r);
	struct platform platform = { 0 };
	struct pg_conn *conn = NULL;
	if (!r->api->config->public_stats)
		return response_problem(r, 403, "public-stats-off",
		                        "The totals of this server are not public.");
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err == OK)
		err = load_platform(conn, &platform);
	pg_pool_release(r->api->pg, conn);
	if (err != OK)
		return response_failure(r, err);
	struct json *json = json_new_object();
	json_set_int(json, "total_links", platform.total_links);
	set_counts(json, platform.statistics.visit_count, platform.statistics.bot_count);
	response_set_ms(json, "avg_latency_ms", platform.statistics.latency_ms.mean);
	response_add_freshness(json, platform.as_of_us, now_us);
	return response_json(r, 200, json);
}
