/*
 * Pure. The site or app from which a visitor came. The build makes the table from
 * referrer_sources.txt (facts.cmake).
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_REFERRER_SOURCE_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_REFERRER_SOURCE_H

#include <stddef.h>

/* "Facebook" for "www.facebook.com"; "" for an unknown host. host: as referrer_host writes it. */
const char *referrer_source_of(const char *host);

struct referrer_source_pair {
	const char *host;
	const char *name;
};

/* Sorted by host (strcmp). */
extern const struct referrer_source_pair referrer_source_table[];
extern const size_t referrer_source_table_size;

#endif
