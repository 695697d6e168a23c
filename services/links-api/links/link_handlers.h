/*
 * HTTP handlers of one existing link; ctx is the struct request. The same 404 answers a link of
 * another user, an unknown link and, except for restore and hard delete, a deleted link. Changes
 * honour If-Match.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_HANDLERS_H

#include "lib/http/http_server.h"

/* GET /api/links/{id} → 200 {link} with ETag, 404 */
enum http_progress link_handlers_get(void *ctx, struct http_exchange *x);

/* PATCH /api/links/{id} → 200 {link} with ETag, 400, 404, 409, 412. No effect: same version. */
enum http_progress link_handlers_patch(void *ctx, struct http_exchange *x);

/*
 * DELETE /api/links/{id}?hard= → 204, 400, 404, 412. hard=true purges the link, even if it is
 * already deleted; a purged link cannot be restored.
 */
enum http_progress link_handlers_delete(void *ctx, struct http_exchange *x);

/* POST /api/links/{id}/restore → 200 {link} with ETag, 404, 409, 412 */
enum http_progress link_handlers_restore(void *ctx, struct http_exchange *x);

#endif
