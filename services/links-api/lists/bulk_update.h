/*
 * HTTP handlers; ctx is the struct request. Apply one change to all links that a filter matches, in
 * one transaction.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_BULK_UPDATE_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_BULK_UPDATE_H

#include "lib/http/http_server.h"

/*
 * PATCH /api/links?filter=&owner= {original_url?, state?, expires_at?, tags?, add_tags?,
 * remove_tags?} → 200 {matched, changed}, 400, 403, 409, 422. 422: the filter matches more than
 * BULK_UPDATE_STORE_MAX links, and nothing is changed. A link that already has the new values
 * counts as matched, but not as changed. So does a link that the change does not fit
 * (link_change_edit):
 *   - an expired link that "state": "active" alone cannot enable
 *   - a link that starts after the new expires_at
 *   - a link that add_tags would give too many tags
 */
enum http_progress bulk_update_patch(void *ctx, struct http_exchange *x);

/*
 * DELETE /api/links?filter=&owner= → 200 {matched, changed}, 400, 403, 406, 409, 422 as above. Each
 * link is deleted as by DELETE /api/links/{id} and can be restored.
 */
enum http_progress bulk_update_delete(void *ctx, struct http_exchange *x);

#endif
