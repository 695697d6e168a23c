/*
 * HTTP handlers for changes to the caller's own account; ctx is the struct request. A new password
 * and the deletion of the account require the password. Attempts count towards the login limit, so
 * a stolen access token or session allows no extra guesses.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_ACCOUNT_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_ACCOUNT_HANDLERS_H

#include "lib/http/http_server.h"

/* PATCH /api/auth/me {name?, tz?, locale?, theme?} → 200 {user}, 400 */
enum http_progress account_handlers_change(void *ctx, struct http_exchange *x);

/* POST /api/auth/password {current_password, new_password} → 204, 400, 403 "wrong-password", 429 */
enum http_progress account_handlers_set_password(void *ctx, struct http_exchange *x);

/* DELETE /api/auth/me {password} → 204, 400, 403 "wrong-password", 429 */
enum http_progress account_handlers_delete(void *ctx, struct http_exchange *x);

#endif
