/*
 * Filters of visits: humans or bots, and conditions on dimensions. Equality terms of one dimension
 * are alternatives (country=DE or AT); all other conditions must hold together. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_VISIT_FILTER_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_VISIT_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/clicks/visit_dimension.h"

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
