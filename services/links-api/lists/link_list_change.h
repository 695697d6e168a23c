/*
 * HTTP handler; ctx is the struct request. One change of all links that a filter means, in one transaction.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_LINK_LIST_CHANGE_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_LINK_LIST_CHANGE_H

#include "lib/net/http_server.h"

/*
 * PATCH /api/links?filter=&owner= {original_url?, state?, tags?} → 200 {matched, changed}, 400, 403, 409, 422: more than
 * LINK_MANY_STORE_MAX links (nothing is changed). Links that are like that already are not changed, and neither are
 * expired ones by "state": "ACTIVE".
 */
enum http_progress link_list_change_patch(void *ctx, struct http_exchange *x);

#endif
