/*
 * HTTP handlers of lists of links; ctx is the struct request. owner= needs the login of an
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

/*
 * PATCH /api/links?filter=&owner= {original_url?, state?, expires_at?, tags?, add_tags?,
 * remove_tags?} → 200 {matched, changed}, 400, 403, 409, 422: one change to all links that the
 * filter matches, in one transaction. 422: the filter matches more than
 * LINK_WRITE_MAX links, and nothing is changed. A link that already has the new values
 * counts as matched, but not as changed. So does a link that the change does not fit
 * (link_change_edit):
 *   - an expired link that "state": "active" alone cannot enable
 *   - a link that starts after the new expires_at
 *   - a link that add_tags would give too many tags
 */
enum http_progress link_list_handlers_patch(void *ctx, struct http_exchange *x);

/*
 * DELETE /api/links?filter=&owner= → 200 {matched, changed}, 400, 403, 406, 409, 422 as above. Each
 * link is deleted as by DELETE /api/links/{id} and can be restored.
 */
enum http_progress link_list_handlers_delete(void *ctx, struct http_exchange *x);

#endif
