/*
 * Pure. What every paged list says about its page: {page, limit, total, total_pages, next_cursor}.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_HTTP_PAGINATION_H
#define WAYMARK_SERVICES_LINKS_API_HTTP_PAGINATION_H

#include <stdint.h>

#include "lib/json/json.h"

#define PAGINATION_UNCOUNTED (-1)

struct pagination {
	int64_t page; /* from 1; 0 = the list has no page numbers, or a cursor was given */
	int64_t limit;
	int64_t total;           /* over all pages, or PAGINATION_UNCOUNTED */
	const char *next_cursor; /* NULL on the last page */
};

/* What is not known is null. The caller owns the result. */
struct json *pagination_json(const struct pagination *pagination);

#endif
