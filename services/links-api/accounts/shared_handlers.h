/* HTTP handlers for readers of a share; ctx is the struct request. Statistics: stats_handlers.h. */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_SHARED_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_SHARED_HANDLERS_H

#include "lib/http/http_server.h"

/*
 * POST /api/shared/access {token, password?} → 200 {access_token, token_type, expires_in}. 401
 * "share-password": it has a password, and this is not the one. 404 "no-share": the token is
 * unknown, or its share has ended for whatever reason. 400, 429
 */
enum http_progress shared_handlers_access(void *ctx, struct http_exchange *x);

/* GET /api/shared → 200: share_json_for_reader */
enum http_progress shared_handlers_get(void *ctx, struct http_exchange *x);

#endif
