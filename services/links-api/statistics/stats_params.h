/*
 * Pure. The URL parameters of the statistics endpoints. A dimension's name is a filter: country=DE
 * matches visits from Germany, country!=DE all others.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_STATS_PARAMS_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_STATS_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/http/http_problem.h"
#include "lib/links/link.h"
#include "services/links-api/lists/nql.h"
#include "services/links-api/statistics/local_calendar.h"
#include "services/links-api/statistics/visit_filter.h"
#include "services/links-api/statistics/visit_page.h"

/* The parameters that an endpoint accepts, in addition to from, to and tz. */
enum stats_params_part {
	STATS_PARAMS_INTERVAL = 1,
	STATS_PARAMS_LIMIT = 2,
	STATS_PARAMS_FILTERS = 4,
	STATS_PARAMS_CURSOR = 8,
	STATS_PARAMS_BOTS = 16,
	STATS_PARAMS_LAST_DAY = 32, /* not a parameter: the range defaults to the last 24 hours */
	STATS_PARAMS_FORMAT = 64,
	STATS_PARAMS_COMPARE = 128,
	STATS_PARAMS_LINKS = 256, /* tag= and filter=: which of the caller's links */
};

/* The value of format=. */
enum stats_params_format {
	STATS_PARAMS_FORMAT_NONE, /* not given */
	STATS_PARAMS_FORMAT_JSON,
	STATS_PARAMS_FORMAT_CSV,
	STATS_PARAMS_FORMAT_NDJSON,
};

/* The value of compare=: the earlier period in the same response. */
enum stats_params_compare {
	STATS_PARAMS_COMPARE_NONE,     /* not given */
	STATS_PARAMS_COMPARE_PREVIOUS, /* the one before */
	STATS_PARAMS_COMPARE_MONTH,    /* the same a month before */
	STATS_PARAMS_COMPARE_YEAR,     /* the same a year before */
};

struct stats_params_terms {
	unsigned parts;
	int64_t limit_default, limit_max;
};

/* One end of a range: a time, a date in the time zone, or nothing. */
struct stats_params_end {
	bool is_given;
	/* If date is "". */
	int64_t time_us;
	/* "" = time_us counts. */
	char date[LOCAL_CALENDAR_DATE_SIZE];
};

/* About 9 KB: keep it on the heap. */
struct stats_params {
	struct stats_params_end from, to;
	/* "UTC" by default; may be unknown (local_calendar_zones_check). */
	char zone[LOCAL_CALENDAR_ZONE_SIZE];
	enum local_calendar_interval interval;
	bool has_interval;
	int64_t limit;
	bool has_limit;
	/* Countries are in upper case. */
	struct visit_filter filter;
	/* All zero = from the start. */
	struct visit_page_cursor after;
	enum stats_params_format format;
	enum stats_params_compare compare;
	/* "" = any tag. */
	char tag[LINK_TAG_SIZE];
	bool has_links_filter;
	struct nql links_filter;
};

/*
 * ERR_INVALID: wrong lists each unknown, duplicate or invalid parameter, as "/from" and
 * "/country!". Filters may occur several times.
 */
enum err stats_params_read(const char *query, const struct stats_params_terms *terms,
                           struct stats_params *out, struct http_problem_fields *wrong) MUST_CHECK;

#endif
