#include "services/links-api/statistics/stats_handlers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/links/link_store.h"
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
	/* earlier NULL: the request does not compare. Its counts are left to render. */
	struct json *(*render)(const struct stats_request *stats, const void *result,
	                       struct stats_json_earlier *earlier);
};

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
		err = statistics_store_as_of(conn, &stats->freshness.as_of_us);
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

static struct json *render(const struct stats_request *stats, const struct endpoint *endpoint,
                           const void *result)
{
	struct stats_json_earlier earlier = {
		.question = stats->is_earlier_counted ? &stats->earlier : NULL,
	};
	return endpoint->render(stats, result, compares(stats) ? &earlier : NULL);
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
	return statistics_sql_total(conn, question,
	                            question == &stats->earlier ? &totals->earlier : &totals->sums);
}

static struct json *render_totals(const struct stats_request *stats, const void *result,
                                  struct stats_json_earlier *earlier)
{
	const struct totals *totals = result;
	if (!totals->is_range)
		return stats_json_of_link(&totals->statistics, &stats->freshness);
	if (earlier)
		earlier->sums = &totals->earlier;
	return stats_json_of_range(&stats->question, stats->link_count, &totals->sums, earlier,
	                           &stats->freshness);
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
	int64_t starts[STATISTICS_SQL_POINTS_MAX];
	struct statistics_sums sums[STATISTICS_SQL_POINTS_MAX];
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
	                                     STATISTICS_SQL_POINTS_MAX, &points->count);
	if (err == ERR_LIMIT)
		http_problem_add_field(
			&stats->wrong, "/interval", "range",
			"gives more than %d points; use a longer interval or a shorter range",
			STATISTICS_SQL_POINTS_MAX);
	if (err != OK)
		return err;
	return statistics_sql_series(conn, question, points->starts, points->count, points->sums);
}

static struct json *render_series(const struct stats_request *stats, const void *result,
                                  struct stats_json_earlier *earlier)
{
	const struct series *series = result;
	if (earlier) {
		earlier->starts = series->earlier.starts;
		earlier->sums = series->earlier.sums;
		earlier->count = series->earlier.count;
	}
	return stats_json_of_series(&stats->question, &stats->params, series->points.starts,
	                            series->points.sums, series->points.count, earlier,
	                            &stats->freshness);
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
	struct statistics_value values[STATISTICS_SQL_VALUES_MAX];
	/* Of the same values. */
	struct statistics_sums earlier[STATISTICS_SQL_VALUES_MAX];
};

static enum err count_values(struct stats_request *stats, struct pg_conn *conn,
                             struct statistics_query *question, void *result)
{
	struct values *values = result;
	if (question == &stats->earlier)
		return statistics_sql_values_of(conn, question, values->dimension, values->values,
		                                values->count, values->earlier,
		                                &values->earlier_total);
	return statistics_sql_values(conn, question, values->dimension, (size_t)stats->params.limit,
	                             values->values, &values->count, &values->total);
}

static struct json *render_values(const struct stats_request *stats, const void *result,
                                  struct stats_json_earlier *earlier)
{
	const struct values *values = result;
	if (earlier) {
		earlier->sums = values->earlier;
		earlier->total = &values->earlier_total;
	}
	return stats_json_of_values(&stats->question, values->dimension, values->values,
	                            values->count, &values->total, earlier, &stats->freshness);
}

static enum http_progress answer_unknown_dimension(struct request *r)
{
	char detail[RESPONSE_DETAIL_SIZE];
	size_t len = (size_t)snprintf(detail, sizeof(detail), "Unknown dimension. There are");
	for (enum visit_dimension d = 0; d < VISIT_DIMENSION_COUNT; d++)
		len += (size_t)snprintf(detail + len, sizeof(detail) - len, "%s %s",
		                        d > 0 ? "," : "", visit_dimension_name(d));
	snprintf(detail + len, sizeof(detail) - len, ".");
	return response_problem(r, 404, NULL, detail);
}

enum http_progress stats_handlers_dimension(void *ctx, struct http_exchange *x)
{
	struct endpoint endpoint = {
		{ STATS_REQUEST_LIMIT | STATS_REQUEST_FILTERS | STATS_REQUEST_BOTS |
		          STATS_REQUEST_COMPARE,
		  VALUES_DEFAULT, STATISTICS_SQL_VALUES_MAX },
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
	struct statistics_top links[STATISTICS_SQL_TOP_MAX];
};

static enum err count_top(struct stats_request *stats, struct pg_conn *conn,
                          struct statistics_query *question, void *result)
{
	struct top_links *top = result;
	return statistics_sql_top(conn, question, (size_t)stats->params.limit, top->links,
	                          &top->count);
}

/* The endpoint takes no compare=. */
static struct json *render_top(const struct stats_request *stats, const void *result,
                               struct stats_json_earlier *earlier)
{
	(void)earlier;
	const struct top_links *top = result;
	return stats_json_of_top(&stats->question, top->links, top->count,
	                         stats->request->api->base, &stats->freshness);
}

enum http_progress stats_handlers_top(void *ctx, struct http_exchange *x)
{
	static const struct endpoint endpoint = {
		{ STATS_REQUEST_LIMIT | STATS_REQUEST_FILTERS | STATS_REQUEST_BOTS |
		          STATS_REQUEST_LAST_DAY,
		  TOP_DEFAULT, STATISTICS_SQL_TOP_MAX },
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
	int64_t total_links;
	struct statistics statistics;
	struct stats_json_freshness freshness;
};

static enum err load_platform(struct pg_conn *conn, struct platform *platform)
{
	enum err err = link_list_store_count(conn, LINK_STORE_ANY_OWNER, &platform->total_links);
	if (err == OK)
		err = statistics_store_as_of(conn, &platform->freshness.as_of_us);
	return err == OK ? statistics_store_get(conn, STATISTICS_STORE_PLATFORM,
	                                        &platform->statistics)
	                 : err;
}

enum http_progress stats_handlers_platform(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct platform platform = { .freshness.now_us = request_now_us(r) };
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err != OK)
		return response_failure(r, err);
	err = load_platform(conn, &platform);
	pg_pool_release(r->api->pg, conn);
	if (err != OK)
		return response_failure(r, err);
	return response_json(r, 200,
	                     stats_json_of_platform(platform.total_links, &platform.statistics,
	                                            &platform.freshness));
}
