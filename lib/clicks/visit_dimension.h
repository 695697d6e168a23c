/*
 * Pure. What visits are told apart by. The same words in SQL, in the API's paths and in its filters. Those that are rolled
 * up are the type visit_dimension of PostgreSQL; the others are columns of the visit log and nothing else.
 */
#ifndef WAYMARK_LIB_CLICKS_VISIT_DIMENSION_H
#define WAYMARK_LIB_CLICKS_VISIT_DIMENSION_H

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
	VISIT_DIMENSION_REFERRER_SOURCE, /* from here on: not rolled up */
	VISIT_DIMENSION_BOT_REASON,
	VISIT_DIMENSION_COUNT,
};

/* "utm_source" */
const char *visit_dimension_name(enum visit_dimension dimension);

/* Its column in visit_log. */
const char *visit_dimension_column(enum visit_dimension dimension);

bool visit_dimension_is_rolled_up(enum visit_dimension dimension);

/* ERR_NOT_FOUND: there is none of that name. */
enum err visit_dimension_parse(const char *name, enum visit_dimension *out) MUST_CHECK;

#endif
