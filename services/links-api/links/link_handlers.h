/*
 * HTTP handlers of links that exist; ctx is the struct request. Links of others, links that are not there and, but for
 * restore, deleted links all answer the same 404. Changes honour If-Match.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_HANDLERS_H

#include "lib/net/http_server.h"

/* GET /api/links/{id} → 200 {link} with ETag, 404 */
enum http_progress link_handlers_get(void *ctx, struct http_exchange *x);

/* PATCH /api/links/{id} → 200 {link} with ETag, 400, 404, 409, 412. What changes nothing gives no new version. */
enum http_progress link_handlers_patch(void *ctx, struct http_exchange *x);

/* DELETE /api/links/{id}?hard= → 204, 400, 404, 412. hard=true purges, also what is deleted already: nothing brings it back. */
enum http_progress link_handlers_delete(void *ctx, struct http_exchange *x);

/* POST /api/links/{id}/restore → 200 {link}, ACTIVE again, with ETag, 404, 409, 412 */
enum http_progress link_handlers_restore(void *ctx, struct http_exchange *x);

#endif
