#include "services/links-api/stats/stats_handlers.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/links/link_store.h"
#include "services/links-api/answer.h"
#include "services/links-api/lists/link_list_store.h"
#include "services/links-api/stats/stats_asking.h"

#define VALUES_DEFAULT 10
#define TOP_DEFAULT 10

/* What an endpoint does between the query and the answer; found is its own. */
struct errand {
	struct stats_query_terms terms;
	bool is_about_links_of_caller; /* and not about the path's link */
	bool needs_log;                /* also without a filter */
	enum err (*find)(struct stats_asking *asking, struct pg_conn *conn, void *found);
	struct json *(*tell)(const struct stats_asking *asking, const void *found);
};

/* as_of first: what is counted between the two questions may be in the counts already, but is never missing. */
static enum err find_on(struct stats_asking *asking, struct pg_conn *conn, const struct errand *errand, void *found)
{
	enum err err = OK;
	asking->needs_log = asking->needs_log || errand->needs_log;
	if (!errand->is_about_links_of_caller)
		err = stats_asking_find_link(asking, conn);
	if (err == OK)
		err = stats_asking_find_freshness(asking, conn);
	if (err == OK)
		err = stats_asking_find_range(asking, conn);
	return err == OK ? errand->find(asking, conn, found) : err;
}

static enum err find(struct stats_asking *asking, struct request *r, const struct errand *errand, void *found)
{
	struct pg_conn *conn = NULL;
	enum err err = stats_asking_read(asking, r, &errand->terms);
	if (err == OK)
		err = pg_pool_take(r->api->pg, &conn);
	if (err == OK)
		err = find_on(asking, conn, errand, found);
	pg_pool_give(r->api->pg, conn);
	return err;
}

static enum http_progress run(struct request *r, const struct errand *errand, void *found)
{
	struct stats_asking *asking = mem_zero(sizeof(*asking));
	enum err err = find(asking, r, errand, found);
	enum http_progress progress =
		err == OK ? answer_json(r, 200, errand->tell(asking, found)) : stats_asking_answer_failure(asking, err);
	free(asking);
	return progress;
}

/* --- totals --- */

struct totals {
	bool are_of_range;
	struct statistics statistics;
	struct statistics_sums sums;
};

/* Without a range: everything that was ever counted. */
static enum err find_totals(struct stats_asking *asking, struct pg_conn *conn, void *found)
{
	struct totals *totals = found;
	const struct stats_query *query = &asking->query;
	totals->are_of_range = query->from.is_given || query->to.is_given || query->filter.count > 0;
	if (!totals->are_of_range)
		return statistics_store_get(conn, asking->question.link_id, &totals->statistics);
	return statistics_query_total(conn, &asking->question, &totals->sums);
}

static struct json *tell_totals(const struct stats_asking *asking, const void *found)
{
	const struct totals *totals = found;
	return totals->are_of_range ? stats_json_of_range(&asking->question, &totals->sums, &asking->freshness)
	                            : stats_json_of_link(&asking->question, &totals->statistics, &asking->freshness);
}

enum http_progress stats_handlers_link(void *ctx, struct http_exchange *x)
{
	static const struct errand errand = { { .parts = STATS_QUERY_FILTERS | STATS_QUERY_BOTS },
		                              .find = find_totals,
		                              .tell = tell_totals };
	(void)x;
	struct totals totals;
	return run(ctx, &errand, &totals);
}

/* --- series --- */

struct series {
	size_t count;
	int64_t starts[STATISTICS_QUERY_POINTS_MAX];
	struct statistics_sums sums[STATISTICS_QUERY_POINTS_MAX];
};

static enum err find_series(struct stats_asking *asking, struct pg_conn *conn, void *found)
{
	struct series *series = found;
	enum err err = local_calendar_starts(conn, asking->question.asked, asking->query.zone, asking->query.interval,
	                                     series->starts, STATISTICS_QUERY_POINTS_MAX, &series->count);
	if (err == ERR_LIMIT)
		http_problem_add_field(&asking->wrong, "/interval", "would make more than %d points of this range",
		                       STATISTICS_QUERY_POINTS_MAX);
	if (err != OK)
		return err;
	return statistics_query_series(conn, &asking->question, series->starts, series->count, series->sums);
}

static struct json *tell_series(const struct stats_asking *asking, const void *found)
{
	const struct series *series = found;
	return stats_json_of_series(&asking->question, &asking->query, series->starts, series->sums, series->count,
	                            &asking->freshness);
}

enum http_progress stats_handlers_series(void *ctx, struct http_exchange *x)
{
	static const struct errand errand = {
		{ .parts = STATS_QUERY_INTERVAL | STATS_QUERY_FILTERS | STATS_QUERY_BOTS },
		.find = find_series,
		.tell = tell_series,
	};
	(void)x;
	struct series *series = mem_zero(sizeof(*series));
	enum http_progress progress = run(ctx, &errand, series);
	free(series);
	return progress;
}

/* --- values of a dimension --- */

struct values {
	enum visit_dimension dimension;
	size_t count;
	struct statistics_sums total;
	struct statistics_value values[STATISTICS_QUERY_VALUES_MAX];
};

static enum err find_values(struct stats_asking *asking, struct pg_conn *conn, void *found)
{
	struct values *values = found;
	return statistics_query_values(conn, &asking->question, values->dimension, (size_t)asking->query.limit,
	                               values->values, &values->count, &values->total);
}

static struct json *tell_values(const struct stats_asking *asking, const void *found)
{
	const struct values *values = found;
	return stats_json_of_values(&asking->question, values->dimension, values->values, values->count, &values->total,
	                            &asking->freshness);
}

enum http_progress stats_handlers_dimension(void *ctx, struct http_exchange *x)
{
	struct errand errand = {
		{ STATS_QUERY_LIMIT | STATS_QUERY_FILTERS | STATS_QUERY_BOTS, VALUES_DEFAULT,
		  STATISTICS_QUERY_VALUES_MAX },
		.find = find_values,
		.tell = tell_values,
	};
	(void)x;
	struct request *r = ctx;
	struct values *values = mem_zero(sizeof(*values));
	bool is_there = visit_dimension_parse(r->match.params[1], &values->dimension) == OK;
	errand.needs_log = is_there && !visit_dimension_is_rolled_up(values->dimension);
	enum http_progress progress = is_there ? run(r, &errand, values) : answer_not_found(r);
	free(values);
	return progress;
}

/* --- the caller's links --- */

struct top {
	size_t count;
	struct statistics_top links[STATISTICS_QUERY_TOP_MAX];
};

static enum err find_top(struct stats_asking *asking, struct pg_conn *conn, void *found)
{
	struct top *top = found;
	return statistics_query_top(conn, &asking->question, asking->r->user_id, (size_t)asking->query.limit,
	                            top->links, &top->count);
}

static struct json *tell_top(const struct stats_asking *asking, const void *found)
{
	const struct top *top = found;
	return stats_json_of_top(&asking->question, top->links, top->count, &asking->r->api->base, &asking->freshness);
}

enum http_progress stats_handlers_top(void *ctx, struct http_exchange *x)
{
	static const struct errand errand = {
		{ STATS_QUERY_LIMIT | STATS_QUERY_BOTS | STATS_QUERY_LAST_DAY, TOP_DEFAULT, STATISTICS_QUERY_TOP_MAX },
		.is_about_links_of_caller = true,
		.find = find_top,
		.tell = tell_top,
	};
	(void)x;
	struct top *top = mem_zero(sizeof(*top));
	enum http_progress progress = run(ctx, &errand, top);
	free(top);
	return progress;
}

/* --- the platform --- */

struct platform {
	int64_t total_links;
	struct statistics statistics;
	struct stats_json_freshness freshness;
};

static enum err find_platform_on(struct pg_conn *conn, struct platform *platform)
{
	enum err err = link_list_store_count(conn, LINK_STORE_ANY_OWNER, &platform->total_links);
	if (err == OK)
		err = statistics_store_as_of(conn, &platform->freshness.as_of_us);
	return err == OK ? statistics_store_get(conn, STATISTICS_STORE_PLATFORM, &platform->statistics) : err;
}

enum http_progress stats_handlers_platform(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct platform platform = { .freshness.now_us = request_now_us(r) };
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_take(r->api->pg, &conn);
	if (err != OK)
		return answer_failure(r, err);
	err = find_platform_on(conn, &platform);
	pg_pool_give(r->api->pg, conn);
	if (err != OK)
		return answer_failure(r, err);
	return answer_json(r, 200,
	                   stats_json_of_platform(platform.total_links, &platform.statistics, &platform.freshness));
}
