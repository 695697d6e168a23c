/*
 * One thread at a time, as its request. One question about visits on its way from the query to the answer: whose link,
 * which range, which filter, and how fresh the answer is.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATS_STATS_ASKING_H
#define WAYMARK_SERVICES_LINKS_API_STATS_STATS_ASKING_H

#include "lib/clicks/statistics_query.h"
#include "services/links-api/request.h"
#include "services/links-api/stats/stats_json.h"
#include "services/links-api/stats/stats_query.h"

struct stats_asking {
	struct request *r;
	struct stats_query query;
	struct statistics_question question; /* its filter is query's */
	struct stats_json_freshness freshness;
	struct http_problem_fields wrong;
	bool has_no_link; /* the link is not there, deleted, or somebody else's */
	bool needs_log;   /* the answer is made of single visits */
	bool is_ready;    /* everything below the query was fine: what failed then was the question */
};

/* Reads the query. ERR_INVALID: wrong says what. */
enum err stats_asking_read(struct stats_asking *asking, struct request *r,
                           const struct stats_query_terms *terms) MUST_CHECK;

/* Whether the path's link is the caller's, and up to when clicks are counted. ERR_NOT_FOUND: has_no_link. */
enum err stats_asking_find_link(struct stats_asking *asking, struct pg_conn *conn) MUST_CHECK;
enum err stats_asking_find_freshness(struct stats_asking *asking, struct pg_conn *conn) MUST_CHECK;
/*
 * The range of time. If single visits are needed and no start is given, one that the log does not reach back to becomes
 * the log's own. ERR_INVALID: wrong says what.
 */
enum err stats_asking_find_range(struct stats_asking *asking, struct pg_conn *conn) MUST_CHECK;

/* Answers what any of these, or the question itself, could not do: 400, 404, 422, 503, 500. */
enum http_progress stats_asking_answer_failure(struct stats_asking *asking, enum err err);

#endif
