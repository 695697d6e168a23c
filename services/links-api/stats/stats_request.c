#include "services/links-api/stats/stats_request.h"

#include <stdio.h>

#include "lib/base/timestamp.h"
#include "lib/links/link_store.h"
#include "services/links-api/answer.h"
#include "services/links-api/stats/stats_range.h"

enum err stats_request_read(struct stats_request *stats, struct request *r, const struct stats_params_terms *terms)
{
	*stats = (struct stats_request){ .r = r, .freshness.now_us = request_now_us(r) };
	stats->question.filter = &stats->params.filter;
	enum err err = stats_params_read(http_exchange_query(r->exchange), terms, &stats->params, &stats->wrong);
	stats->needs_log = stats->params.filter.count > 0;
	return err;
}

enum err stats_request_find_link(struct stats_request *stats, struct pg_conn *conn)
{
	struct link link;
	stats->question.link_id = request_id_of_path(stats->r);
	enum err err = link_store_get(conn, stats->question.link_id, request_owner(stats->r), &link);
	if (err == OK && link.entry.state == LINK_STATE_DELETED)
		err = ERR_NOT_FOUND;
	stats->has_no_link = err == ERR_NOT_FOUND;
	return err;
}

enum err stats_request_find_freshness(struct stats_request *stats, struct pg_conn *conn)
{
	return statistics_store_as_of(conn, &stats->freshness.as_of_us);
}

static enum err clamp_to_log(struct stats_request *stats, struct pg_conn *conn)
{
	struct statistics_span *asked = &stats->question.asked;
	int64_t since_us = 0;
	enum err err = statistics_query_log_since(conn, &since_us);
	if (err == OK && asked->from_us < since_us && since_us < asked->to_us)
		asked->from_us = since_us;
	return err;
}

enum err stats_request_find_range(struct stats_request *stats, struct pg_conn *conn)
{
	enum err err = stats_range_find(conn, stats->r->api->zones, &stats->params, stats->freshness.now_us,
	                                &stats->question.asked, &stats->wrong);
	if (err == OK && stats->needs_log && !stats->params.from.is_given)
		err = clamp_to_log(stats, conn);
	stats->is_ready = err == OK;
	return err;
}

static enum http_progress answer_beyond_log(struct stats_request *stats)
{
	char since[TIMESTAMP_TEXT_SIZE];
	timestamp_format_ms(stats->question.log_since_us, since);
	if (stats->params.from.is_given)
		http_problem_add_field(&stats->wrong, "/from", "is before %s, the start of the visit log", since);
	else
		http_problem_add_field(&stats->wrong, "/to", "must be after %s, the start of the visit log", since);
	return http_problem_answer(stats->r->exchange, 422, "beyond-log",
	                           "Counts with a filter, by referrer_source or by bot_reason need the visit log, "
	                           "which does not reach back that far.",
	                           &stats->wrong);
}

enum http_progress stats_request_answer_error(struct stats_request *stats, enum err err)
{
	struct request *r = stats->r;
	if (stats->wrong.count > 0)
		return answer_wrong_fields(r, &stats->wrong);
	if (stats->has_no_link)
		return answer_not_found(r);
	if (err == ERR_NOT_FOUND && stats->is_ready)
		return answer_beyond_log(stats);
	if (err == ERR_LIMIT && stats->is_ready && stats->needs_log)
		return answer_problem(r, 422, "too-many-visits",
		                      "The range has too many visits for this query. Use a shorter range.");
	return answer_failure(r, err);
}
