#include "services/links-api/stats/stats_asking.h"

#include <stdio.h>

#include "lib/base/timestamp.h"
#include "lib/links/link_store.h"
#include "services/links-api/answer.h"
#include "services/links-api/stats/stats_range.h"

enum err stats_asking_read(struct stats_asking *asking, struct request *r, const struct stats_query_terms *terms)
{
	*asking = (struct stats_asking){ .r = r, .freshness.now_us = request_now_us(r) };
	asking->question.filter = &asking->query.filter;
	enum err err = stats_query_read(http_exchange_query(r->exchange), terms, &asking->query, &asking->wrong);
	asking->needs_log = asking->query.filter.count > 0;
	return err;
}

enum err stats_asking_find_link(struct stats_asking *asking, struct pg_conn *conn)
{
	struct link link;
	asking->question.link_id = request_id_of_path(asking->r);
	enum err err = link_store_get(conn, asking->question.link_id, request_owner(asking->r), &link);
	if (err == OK && link.entry.state == LINK_STATE_DELETED)
		err = ERR_NOT_FOUND;
	asking->has_no_link = err == ERR_NOT_FOUND;
	return err;
}

enum err stats_asking_find_freshness(struct stats_asking *asking, struct pg_conn *conn)
{
	return statistics_store_as_of(conn, &asking->freshness.as_of_us);
}

static enum err begin_with_log(struct stats_asking *asking, struct pg_conn *conn)
{
	struct statistics_span *asked = &asking->question.asked;
	int64_t since_us = 0;
	enum err err = statistics_query_log_since(conn, &since_us);
	if (err == OK && asked->from_us < since_us && since_us < asked->to_us)
		asked->from_us = since_us;
	return err;
}

enum err stats_asking_find_range(struct stats_asking *asking, struct pg_conn *conn)
{
	enum err err = stats_range_find(conn, asking->r->api->zones, &asking->query, asking->freshness.now_us,
	                                &asking->question.asked, &asking->wrong);
	if (err == OK && asking->needs_log && !asking->query.from.is_given)
		err = begin_with_log(asking, conn);
	asking->is_ready = err == OK;
	return err;
}

static enum http_progress answer_beyond_log(struct stats_asking *asking)
{
	char since[TIMESTAMP_TEXT_SIZE];
	timestamp_format_ms(asking->question.log_since_us, since);
	if (asking->query.from.is_given)
		http_problem_add_field(&asking->wrong, "/from", "is before %s, from where on single visits are kept",
		                       since);
	else
		http_problem_add_field(&asking->wrong, "/to", "must be after %s, from where on single visits are kept",
		                       since);
	return http_problem_answer(asking->r->exchange, 422, "beyond-log",
	                           "Counts with a filter, and of referrer_source and bot_reason, need single visits, "
	                           "which are not kept for ever.",
	                           &asking->wrong);
}

enum http_progress stats_asking_answer_failure(struct stats_asking *asking, enum err err)
{
	struct request *r = asking->r;
	if (asking->wrong.count > 0)
		return answer_wrong_fields(r, &asking->wrong);
	if (asking->has_no_link)
		return answer_not_found(r);
	if (err == ERR_NOT_FOUND && asking->is_ready)
		return answer_beyond_log(asking);
	if (err == ERR_LIMIT && asking->is_ready && asking->needs_log)
		return answer_problem(
			r, 422, "too-many-visits",
			"There are too many visits in the range to be looked at one by one: ask for a shorter one.");
	return answer_failure(r, err);
}
