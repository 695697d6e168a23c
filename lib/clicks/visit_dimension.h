/*
 * Pure. The dimensions of visits: facts by which statistics group and filter. A column of visit_log,
 * a member of struct visit_event, a list of the roll-ups, and a path and a filter of the API have the
 * dimension's name. So it is listed here, in the tables of db/migrations (0006, 0007) and in
 * docs/api/openapi.yaml.
 */
#ifndef WAYMARK_LIB_CLICKS_VISIT_DIMENSION_H
#define WAYMARK_LIB_CLICKS_VISIT_DIMENSION_H

#include <stdbool.h>

#include "lib/base/err.h"

/* X(NAME, name) for each one that is rolled up, in the order of the lists. */
#define VISIT_DIMENSION_ROLLED_UP(X)                                                               \
	X(COUNTRY, country)                                                                        \
	X(CITY, city)                                                                              \
	X(REGION, region)                                                                          \
	X(REFERRER_HOST, referrer_host)                                                            \
	X(BROWSER, browser)                                                                        \
	X(OS, os)                                                                                  \
	X(DEVICE, device)                                                                          \
	X(LANGUAGE, language)                                                                      \
	X(UTM_SOURCE, utm_source)                                                                  \
	X(UTM_MEDIUM, utm_medium)                                                                  \
	X(UTM_CAMPAIGN, utm_campaign)                                                              \
	X(RULE, rule)                                                                              \
	X(VARIANT, variant)                                                                        \
	X(ALIAS, alias)                                                                            \
	X(SCAN, scan)

/* The same for those that only the visit log has. */
#define VISIT_DIMENSION_OF_LOG(X)                                                                  \
	X(REFERRER_SOURCE, referrer_source)                                                        \
	X(BOT_REASON, bot_reason)

#define VISIT_DIMENSION_NUMBER(NAME, name) VISIT_DIMENSION_##NAME,
enum visit_dimension {
	/* None: the number of the roll-ups' first list, which has the totals. */
	VISIT_DIMENSION_QUARTERS,
	VISIT_DIMENSION_ROLLED_UP(VISIT_DIMENSION_NUMBER)
	/* The number of lists of the roll-ups. */
	VISIT_DIMENSION_LISTS,
	VISIT_DIMENSION_BEFORE_LOG = VISIT_DIMENSION_LISTS - 1,
	VISIT_DIMENSION_OF_LOG(VISIT_DIMENSION_NUMBER) VISIT_DIMENSION_END,
	VISIT_DIMENSION_FIRST = VISIT_DIMENSION_QUARTERS + 1,
};

/* "utm_source"; "quarters" of VISIT_DIMENSION_QUARTERS. */
const char *visit_dimension_name(enum visit_dimension dimension);

bool visit_dimension_is_rolled_up(enum visit_dimension dimension);

/* ERR_NOT_FOUND: no dimension has that name. */
enum err visit_dimension_parse(const char *name, enum visit_dimension *out) MUST_CHECK;

#endif
