/*
 * HTTP handlers of many links at once; ctx is the struct request. owner= is for a login of an admin: 403 for everybody
 * else. A query that PostgreSQL cannot answer in time is 422: it will not get faster by being asked again.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_LINK_LIST_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_LINK_LIST_HANDLERS_H

#include "lib/net/http_server.h"

/*
 * GET /api/links?page|cursor&limit&sort&order&q&tag&state&filter&owner → 200 {links, pagination: {page, limit, total,
 * total_pages, next_cursor}}, 400, 403, 422. page and total_pages are null with a cursor; total, too, when a search or a
 * filter finds more than LINK_LIST_STORE_COUNTED_MAX.
 */
enum http_progress link_list_handlers_get(void *ctx, struct http_exchange *x);

#endif
