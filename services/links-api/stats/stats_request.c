#include "services/links-api/stats/stats_request.h"

#include "lib/base/clock.h"
#include "lib/base/timestamp.h"
#include "lib/links/link_store.h"
#include "services/links-api/response.h"
#include "services/links-api/stats/zone_names.h"

enum err stats_request_read(struct stats_request *stats, struct request *r,
                            const struct stats_params_terms *terms)
{
	*stats = (struct stats_request){ .request = r, .freshness.now_us = request_now_us(r) };
	stats->question.filter = &stats->params.filter;
	enum err err = stats_params_read(http_exchange_query(r->exchange), terms, &stats->params,
	                                 &stats->wrong);
	stats->needs_log = stats->params.filter.count > 0;
	return err;
}

enum err stats_request_find_link(struct stats_request *stats, struct pg_conn *conn)
{
	struct link link;
	stats->question.link_id = request_path_id(stats->request);
	enum err err =
		link_store_get(conn, stats->question.link_id, request_owner(stats->request), &link);
	if (err == OK && link.entry.state == LINK_STATE_DELETED)
		err = ERR_NOT_FOUND;
	stats->has_no_link = err == ERR_NOT_FOUND;
	return err;
}

/* --- the time range --- */

/* How many intervals a range without from covers. */
static const int64_t default_intervals[] = {
	[LOCAL_CALENDAR_HOUR] = 24,
	[LOCAL_CALENDAR_DAY] = 30,
	[LOCAL_CALENDAR_WEEK] = 12,
	[LOCAL_CALENDAR_MONTH] = 12,
};

/* A date is its first moment in the time zone. */
static enum err resolve_end(struct pg_conn *conn, const struct stats_params *params,
                            const struct stats_params_end *end, int64_t *time_us)
{
	if (end->date[0] != '\0')
		return local_calendar_date_start(conn, end->date, params->zone, time_us);
	*time_us = end->time_us;
	return OK;
}

static enum err resolve_from(struct pg_conn *conn, const struct stats_params *params, int64_t to_us,
                             int64_t *from_us)
{
	if (params->from.is_given)
		return resolve_end(conn, params, &params->from, from_us);
	return local_calendar_subtract(conn, to_us, params->zone, params->interval,
	                               default_intervals[params->interval], from_us);
}

static enum err resolve_range(struct stats_request *stats, struct pg_conn *conn,
                              struct statistics_span *out)
{
	const struct stats_params *params = &stats->params;
	int64_t now_us = stats->freshness.now_us;
	struct statistics_span span = { .to_us = now_us - now_us % CLOCK_US_PER_HOUR +
		                                 CLOCK_US_PER_HOUR };
	enum err err = zone_names_check(stats->request->api->zones, conn, params->zone);
	if (err == ERR_NOT_FOUND) {
		http_problem_add_field(&stats->wrong, "/tz",
		                       "must be an IANA time zone like Europe/Berlin");
		return ERR_INVALID;
	}
	if (err == OK && params->to.is_given)
		err = resolve_end(conn, params, &params->to, &span.to_us);
	/* A range cannot start before 1970. */
	if (err == OK && span.to_us > 0)
		err = resolve_from(conn, params, span.to_us, &span.from_us);
	if (err != OK)
		return err;
	if (statistics_range_is_empty(&span)) {
		if (params->to.is_given)
			http_problem_add_field(&stats->wrong, "/to", "must be later than from");
		else
			http_problem_add_field(&stats->wrong, "/from", "is in the future");
		return ERR_INVALID;
	}
	*out = span;
	return OK;
}

static enum err clamp_to_log(struct stats_request *stats, struct pg_conn *conn)
{
	struct statistics_span *asked = &stats->question.requested;
	int64_t since_us = 0;
	enum err err = statistics_sql_log_since(conn, &since_us);
	if (err == OK && asked->from_us < since_us && since_us < asked->to_us)
		asked->from_us = since_us;
	return err;
}

enum err stats_request_find_range(struct stats_request *stats, struct pg_conn *conn)
{
	enum err err = resolve_range(stats, conn, &stats->question.requested);
	if (err == OK && stats->needs_log && !stats->params.from.is_given)
		err = clamp_to_log(stats, conn);
	stats->is_ready = err == OK;
	return err;
}

/* --- errors --- */

static enum http_progress answer_beyond_log(struct stats_request *stats)
{
	char since[TIMESTAMP_TEXT_SIZE];
	timestamp_format_ms(stats->question.reach.log_since_us, since);
	if (stats->params.from.is_given)
		http_problem_add_field(&stats->wrong, "/from",
		                       "is before %s, the start of the visit log", since);
	else
		http_problem_add_field(&stats->wrong, "/to",
		                       "must be after %s, the start of the visit log", since);
	return http_problem_respond(
		stats->request->exchange, 422, "beyond-log",
		"Counts with a filter, by referrer_source or by bot_reason need the visit log, "
		"which does not reach back that far.",
		&stats->wrong);
}

enum http_progress stats_request_answer_error(struct stats_request *stats, enum err err)
{
	struct request *r = stats->request;
	if (stats->wrong.count > 0)
		return response_invalid_fields(r, &stats->wrong);
	if (stats->has_no_link)
		return response_not_found(r);
	if (err == ERR_NOT_FOUND && stats->is_ready)
		return answer_beyond_log(stats);
	if (err == ERR_LIMIT && stats->is_ready && stats->needs_log)
		return response_problem(
			r, 422, "too-many-visits",
			"The range has too many visits for this query. Use a shorter range.");
	return response_failure(r, err);
}
