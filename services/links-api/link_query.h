/*
 * Pure. The query of GET /api/links: page (from 1) and limit (1 to 100, default 20), and nothing else.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINK_QUERY_H
#define WAYMARK_SERVICES_LINKS_API_LINK_QUERY_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/net/http_problem.h"

#define LINK_QUERY_LIMIT_MAX 100
#define LINK_QUERY_LIMIT_DEFAULT 20
#define LINK_QUERY_PAGE_MAX 1000000

struct link_query {
	int64_t page;
	int64_t limit;
};

/* ERR_INVALID: wrong names each parameter that is unknown, there twice or out of range, as "/page". */
enum err link_query_read(const char *query, struct link_query *out, struct http_problem_fields *wrong) MUST_CHECK;

#endif
