/*
 * HTTP handlers for the owner of shares; ctx is the struct request. A share is a credential, so an
 * API key cannot manage shares. A missing share and another account's share get the same 404.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_SHARE_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_SHARE_HANDLERS_H

#include "lib/http/http_server.h"

/*
 * POST /api/shares → 201 {share, token, url}; the only response with the token. 400, 409
 * (SHARE_STORE_SHARES_MAX), 429. url is relative: this server may have another address than short
 * links.
 */
enum http_progress share_handlers_create(void *ctx, struct http_exchange *x);

/* GET /api/shares → 200 {shares} */
enum http_progress share_handlers_list(void *ctx, struct http_exchange *x);

/* DELETE /api/shares/{id} → 204, 404 */
enum http_progress share_handlers_delete(void *ctx, struct http_exchange *x);

#endif
