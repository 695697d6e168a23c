/*
 * Pure. What every paged list says about its page: {page, limit, total, total_is_capped,
 * total_pages, next_cursor}.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_HTTP_PAGINATION_H
#define WAYMARK_SERVICES_LINKS_API_HTTP_PAGINATION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/json/json.h"

#define PAGINATION_UNCOUNTED (-1)

struct pagination {
	/* From 1; 0 = the list has no page numbers, or a cursor was given. */
	int64_t page;
	int64_t limit;
	/* Over all pages, or PAGINATION_UNCOUNTED. */
	int64_t total;
	/* NULL on the last page. */
	const char *next_cursor;
	/* There are more than total. */
	bool total_is_capped;
};

/* What is not known is null. The caller owns the result. */
struct json *pagination_json(const struct pagination *pagination);

#endif
