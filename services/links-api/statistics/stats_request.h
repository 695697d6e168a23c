/*
 * One thread at a time, as its request. A statistics request: its URL parameters, its link or
 * links, time range and filter, and how up to date the counts are. A dimension's name is a filter:
 * country=DE matches visits from Germany, country!=DE all others. The handlers call the functions
 * in this order:
 *
 *   err = stats_request_read(stats, r, &terms);               // URL parameters
 *   err = stats_request_find_link(stats, conn);               // the link of the path, or
 *   err = stats_request_find_links(stats, conn);              // the caller's links, or
 *   err = stats_request_find_shared_links(stats, conn);       // those of a share
 *   err = statistics_store_as_of(conn, &stats->as_of_us);
 *   err = stats_request_find_range(stats, conn);              // from and to as times
 *   err = statistics_series_total(conn, &stats->question, …);
 *   err = stats_request_find_earlier(stats, conn);            // with compare=
 *   if (err != OK) return stats_request_answer_error(stats, err);
 *   …
 *   stats_request_clear(stats);
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_STATS_REQUEST_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_STATS_REQUEST_H

#include "lib/http/http_problem.h"
#include "services/links-api/http/request.h"
#include "services/links-api/http/time_zones.h"
#include "services/links-api/lists/nql.h"
#include "services/links-api/statistics/local_calendar.h"
#include "services/links-api/statistics/statistics.h"
#include "services/links-api/statistics/statistics_range.h"
#include "services/links-api/statistics/visit_page.h"

#define STATS_REQUEST_LINKS_MAX 100000

/* The parameters that an endpoint accepts, in addition to from, to and tz. */
enum stats_request_part {
	STATS_REQUEST_INTERVAL = 1,
	STATS_REQUEST_LIMIT = 2,
	STATS_REQUEST_FILTERS = 4,
	STATS_REQUEST_CURSOR = 8,
	STATS_REQUEST_BOTS = 16,
	STATS_REQUEST_LAST_DAY = 32, /* not a parameter: the range defaults to the last 24 hours */
	STATS_REQUEST_FORMAT = 64,
	STATS_REQUEST_COMPARE = 128,
	STATS_REQUEST_LINKS = 256, /* tag= and filter=: which of the caller's links */
};

/* The value of format=. */
enum stats_request_format {
	STATS_REQUEST_FORMAT_NONE, /* not given */
	STATS_REQUEST_FORMAT_JSON,
	STATS_REQUEST_FORMAT_CSV,
	STATS_REQUEST_FORMAT_NDJSON,
};

/* The value of compare=: the earlier period in the same response. */
enum stats_request_compare {
	STATS_REQUEST_COMPARE_NONE,     /* not given */
	STATS_REQUEST_COMPARE_PREVIOUS, /* the one before */
	STATS_REQUEST_COMPARE_MONTH,    /* the same a month before */
	STATS_REQUEST_COMPARE_YEAR,     /* the same a year before */
};

struct stats_request_terms {
	unsigned parts;
	int64_t limit_default, limit_max;
};

/* One end of a range: a time, a date in the time zone, or nothing. */
struct stats_request_end {
	bool is_given;
	/* If date is "". */
	int64_t time_us;
	/* "" = time_us counts. */
	char date[LOCAL_CALENDAR_DATE_SIZE];
};

/* About 9 KB: keep it on the heap. */
struct stats_request_params {
	struct stats_request_end from, to;
	/* "UTC" by default; may be unknown (time_zones_check). */
	char zone[TIME_ZONES_NAME_SIZE];
	enum local_calendar_interval interval;
	bool has_interval;
	int64_t limit;
	bool has_limit;
	/* Countries are in upper case. */
	struct visit_filter filter;
	/* All zero = from the start. */
	struct visit_page_cursor after;
	enum stats_request_format format;
	enum stats_request_compare compare;
	/* "" = any tag. */
	char tag[LINK_TAG_SIZE];
	bool has_links_filter;
	struct nql links_filter;
};

struct stats_request {
	struct request *request;
	struct stats_request_params params;
	/* Filter points into params. */
	struct statistics_query question;
	/* With compare=; the same for the earlier period. */
	struct statistics_query earlier;
	/* Otherwise its counts need the visit log, which does not reach back that far. */
	bool is_earlier_counted;
	/* Of stats_request_find_links and _shared_links. */
	struct sql_column link_ids;
	/* The same. */
	int64_t link_count;
	/* 0: nothing has been counted yet. */
	int64_t as_of_us;
	int64_t now_us;
	struct http_problem_fields wrong;
	/* Unknown, deleted, or owned by another user. */
	bool has_no_link;
	bool is_link_deleted;
	bool has_too_many_links;
	/* The counts need the visit log, not only roll-ups. */
	bool needs_log;
	/* All input is valid; a later error comes from the query itself. */
	bool is_ready;
};

/*
 * Pure: the URL parameters alone. ERR_INVALID: wrong lists each unknown, duplicate or invalid
 * parameter, as "/from" and "/country!". Filters may occur several times.
 */
enum err stats_request_read_params(const char *query, const struct stats_request_terms *terms,
                                   struct stats_request_params *out,
                                   struct http_problem_fields *wrong) MUST_CHECK;

/* Reads the URL parameters of a request. ERR_INVALID: wrong lists the invalid ones. */
enum err stats_request_read(struct stats_request *stats, struct request *r,
                            const struct stats_request_terms *terms) MUST_CHECK;

void stats_request_clear(struct stats_request *stats);

/* Checks that the caller may read the path's link. ERR_NOT_FOUND: sets has_no_link. */
enum err stats_request_find_link(struct stats_request *stats, struct pg_conn *conn) MUST_CHECK;

/*
 * Finds the caller's links that are not deleted and match tag= and filter=: all of them, or at most
 * STATS_REQUEST_LINKS_MAX. ERR_LIMIT: there are more (sets has_too_many_links), or the search takes
 * too long.
 */
enum err stats_request_find_links(struct stats_request *stats, struct pg_conn *conn) MUST_CHECK;

/* The same for the link of the request's share, or for the links of its workspace that have its tag. */
enum err stats_request_find_shared_links(struct stats_request *stats,
                                         struct pg_conn *conn) MUST_CHECK;

/*
 * Computes the time range. The default of to is the end of the current hour. The default of from is
 * 24 hours, 30 days, 12 weeks or 12 months before to, depending on the interval; the interval that
 * contains to counts as the first. If the request needs the visit log and has no from, the range
 * starts no earlier than the log. ERR_INVALID: the zone is unknown or the range is empty; wrong
 * says why.
 */
enum err stats_request_find_range(struct stats_request *stats, struct pg_conn *conn) MUST_CHECK;

/*
 * Computes the range of stats->earlier: the requested one, moved back by the smallest whole number
 * of intervals after which both do not overlap, or by a month or a year. Intervals are those of
 * interval=, and otherwise hours for ranges shorter than a day, and days. If the requested range
 * has not ended, it ends as early as that one is now. ERR_INVALID: it would begin before 1970;
 * wrong says so.
 */
enum err stats_request_find_earlier(struct stats_request *stats, struct pg_conn *conn) MUST_CHECK;

/* Answers an error of any function above or of the query itself: 400, 404, 422, 500 or 503. */
enum http_progress stats_request_answer_error(struct stats_request *stats, enum err err);

#endif
