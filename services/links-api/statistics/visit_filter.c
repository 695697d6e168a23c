#include "services/links-api/statistics/visit_filter.h"

#include <string.h>

static const char *const names[VISIT_DIMENSION_COUNT] = {
	[VISIT_DIMENSION_COUNTRY] = "country",
	[VISIT_DIMENSION_CITY] = "city",
	[VISIT_DIMENSION_REGION] = "region",
	[VISIT_DIMENSION_REFERRER] = "referrer_host",
	[VISIT_DIMENSION_BROWSER] = "browser",
	[VISIT_DIMENSION_OS] = "os",
	[VISIT_DIMENSION_DEVICE] = "device",
	[VISIT_DIMENSION_LANGUAGE] = "language",
	[VISIT_DIMENSION_UTM_SOURCE] = "utm_source",
	[VISIT_DIMENSION_UTM_MEDIUM] = "utm_medium",
	[VISIT_DIMENSION_UTM_CAMPAIGN] = "utm_campaign",
	[VISIT_DIMENSION_REFERRER_SOURCE] = "referrer_source",
	[VISIT_DIMENSION_BOT_REASON] = "bot_reason",
};

const char *visit_filter_dimension_name(enum visit_dimension dimension)
{
	return names[dimension];
}

bool visit_filter_is_rolled_up(enum visit_dimension dimension)
{
	return dimension < VISIT_DIMENSION_REFERRER_SOURCE;
}

enum err visit_filter_parse_dimension(const char *name, enum visit_dimension *out)
{
	for (enum visit_dimension d = 0; d < VISIT_DIMENSION_COUNT; d++) {
		if (strcmp(name, names[d]) == 0) {
			*out = d;
			return OK;
		}
	}
	return ERR_NOT_FOUND;
}
