/*
 * HTTP handlers of what a user does to his own account; ctx is the struct request. Both want his password, and who has
 * only got hold of an access token can try no more of them than at the login.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_ACCOUNT_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_ACCOUNT_HANDLERS_H

#include "lib/net/http_server.h"

/* POST /api/auth/password {current_password, new_password} → 204, 400, 403 "wrong-password", 429 */
enum http_progress account_handlers_set_password(void *ctx, struct http_exchange *x);

/* DELETE /api/auth/me {password} → 204, 400, 403 "wrong-password", 429 */
enum http_progress account_handlers_delete(void *ctx, struct http_exchange *x);

#endif
