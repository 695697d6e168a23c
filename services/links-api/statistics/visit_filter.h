/*
 * Dimensions by which visits are grouped, and filters of visits: humans or bots, and conditions on
 * dimensions. SQL, the paths of the API and its filters use the same names. Dimensions that are rolled
 * up are also columns of the roll-ups; the others are only columns of the visit log. Equality terms of
 * one dimension are alternatives (country=DE or AT); all other conditions must hold together. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_VISIT_FILTER_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_VISIT_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

enum visit_dimension {
	VISIT_DIMENSION_COUNTRY,
	VISIT_DIMENSION_CITY,
	VISIT_DIMENSION_REGION,
	VISIT_DIMENSION_REFERRER,
	VISIT_DIMENSION_BROWSER,
	VISIT_DIMENSION_OS,
	VISIT_DIMENSION_DEVICE,
	VISIT_DIMENSION_LANGUAGE,
	VISIT_DIMENSION_UTM_SOURCE,
	VISIT_DIMENSION_UTM_MEDIUM,
	VISIT_DIMENSION_UTM_CAMPAIGN,
	VISIT_DIMENSION_REFERRER_SOURCE, /* not rolled up from here on */
	VISIT_DIMENSION_BOT_REASON,
	VISIT_DIMENSION_COUNT,
};

/* "utm_source": the name in the API, and of its columns in SQL. */
const char *visit_filter_dimension_name(enum visit_dimension dimension);

bool visit_filter_is_rolled_up(enum visit_dimension dimension);

/* ERR_NOT_FOUND: no dimension has that name. */
enum err visit_filter_parse_dimension(const char *name, enum visit_dimension *out) MUST_CHECK;

#define VISIT_FILTER_TERMS_MAX 16
/* Longer than any value that the log stores. */
#define VISIT_FILTER_VALUE_SIZE 301

enum visit_filter_traffic { VISIT_FILTER_HUMANS, VISIT_FILTER_ALL, VISIT_FILTER_BOTS };

struct visit_filter_term {
	enum visit_dimension dimension;
	/* Matches everything except value. */
	bool is_not;
	/* "": unknown. */
	char value[VISIT_FILTER_VALUE_SIZE];
};

struct visit_filter {
	enum visit_filter_traffic traffic;
	size_t count;
	struct visit_filter_term terms[VISIT_FILTER_TERMS_MAX];
};

#endif
