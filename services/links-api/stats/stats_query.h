/*
 * Pure. The query of the statistics' endpoints. A filter is a dimension's name: country=DE, and country!=DE for
 * everything else.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATS_STATS_QUERY_H
#define WAYMARK_SERVICES_LINKS_API_STATS_STATS_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/clicks/local_calendar.h"
#include "lib/clicks/visit_filter.h"
#include "lib/clicks/visit_page.h"
#include "lib/net/http_problem.h"

/* What an endpoint takes: from, to and tz always. */
enum stats_query_part {
	STATS_QUERY_INTERVAL = 1,
	STATS_QUERY_LIMIT = 2,
	STATS_QUERY_FILTERS = 4,
	STATS_QUERY_CURSOR = 8,
	STATS_QUERY_BOTS = 16,
	STATS_QUERY_LAST_DAY = 32, /* no parameter: the range is the last 24 hours unless given */
	STATS_QUERY_FORMAT = 64,
};

/* What format= names. */
enum stats_query_format {
	STATS_QUERY_FORMAT_NONE, /* not given */
	STATS_QUERY_FORMAT_JSON,
	STATS_QUERY_FORMAT_CSV,
	STATS_QUERY_FORMAT_NDJSON,
};

struct stats_query_terms {
	unsigned parts;
	int64_t limit_default, limit_max;
};

/* An end of a range: a time, a date of the zone, or nothing. */
struct stats_query_end {
	bool is_given;
	int64_t time_us;                     /* without a date */
	char date[LOCAL_CALENDAR_DATE_SIZE]; /* "" = none */
};

struct stats_query {
	struct stats_query_end from, to;
	char zone[LOCAL_CALENDAR_ZONE_SIZE]; /* "UTC" unless given; perhaps none that there is */
	enum local_calendar_interval interval;
	int64_t limit;
	bool has_limit;
	struct visit_filter filter; /* its countries in capitals */
	struct visit_page_place behind;
	enum stats_query_format format;
};

/*
 * ERR_INVALID: wrong names each parameter that is unknown here, there twice (filters may be) or not what it should be,
 * as "/from" and "/country!".
 */
enum err stats_query_read(const char *query, const struct stats_query_terms *terms, struct stats_query *out,
                          struct http_problem_fields *wrong) MUST_CHECK;

#endif
