/*
 * Dimensions by which visits are grouped and filtered. SQL, the paths of the API and its filters
 * use the same names. Dimensions that are rolled up are also columns of the roll-ups; the others
 * are only columns of the visit log. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_VISIT_DIMENSION_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_VISIT_DIMENSION_H

#include <stdbool.h>

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
const char *visit_dimension_name(enum visit_dimension dimension);

bool visit_dimension_is_rolled_up(enum visit_dimension dimension);

/* ERR_NOT_FOUND: no dimension has that name. */
enum err visit_dimension_parse(const char *name, enum visit_dimension *out) MUST_CHECK;

#endif
