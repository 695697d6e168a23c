/* Pure. The site or app behind a referrer. */
#ifndef WAYMARK_LIB_VISITORS_REFERRER_SOURCE_H
#define WAYMARK_LIB_VISITORS_REFERRER_SOURCE_H

#include <stddef.h>

/*
 * "Facebook" for "www.facebook.com"; "" for an unknown host; a literal. host: as referrer_host
 * writes it. The build makes the table from referrer_sources.txt (data.cmake).
 */
const char *referrer_source_of(const char *host);

struct referrer_source_pair {
	const char *host;
	const char *name;
};

/* Sorted by host (strcmp). */
extern const struct referrer_source_pair referrer_source_table[];
extern const size_t referrer_source_table_size;

#endif
