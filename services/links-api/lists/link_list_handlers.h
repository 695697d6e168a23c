/*
 * HTTP handler of lists of links; ctx is the struct request. owner= needs the login of an
 * administrator: 403 otherwise. A query that exceeds PostgreSQL's statement timeout is 422, because
 * a retry would be as slow.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_LINK_LIST_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_LINK_LIST_HANDLERS_H

#include "lib/http/http_server.h"

/*
 * GET /api/links?page|cursor&limit&sort&order&q&tag&state&filter&owner → 200 {links, pagination:
 * {page, limit, total, total_is_capped, total_pages, next_cursor}}, 400, 403, 422. page and
 * total_pages are null with a cursor. total stops at LINK_LIST_STORE_COUNTED_MAX for a search or
 * filter: total_is_capped is true then and total_pages null.
 */
enum http_progress link_list_handlers_get(void *ctx, struct http_exchange *x);

#endif
