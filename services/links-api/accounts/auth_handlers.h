/*
 * HTTP handlers for registration and logins; ctx is the struct request. Passwords are hashed in
 * separate threads: the handlers return HTTP_PENDING, and those threads complete the response.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_AUTH_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_AUTH_HANDLERS_H

#include "lib/http/http_server.h"

/* POST /api/auth/register → 201 {user}, 400, 403 "https-required", 409, 429 */
enum http_progress auth_handlers_register(void *ctx, struct http_exchange *x);

/* POST /api/auth/login → 200 {access_token, token_type, expires_in}, 400, 401, 429 */
enum http_progress auth_handlers_login(void *ctx, struct http_exchange *x);

/* POST /api/auth/session → 201 {user} and a session's cookie, 400, 401, 403 "cross-site" or "https-required", 429 */
enum http_progress auth_handlers_start_session(void *ctx, struct http_exchange *x);

/* GET /api/auth/session → 200 {user}, null without valid credentials; 403 */
enum http_progress auth_handlers_get_session(void *ctx, struct http_exchange *x);

/* GET /api/auth/me → 200 {user} */
enum http_progress auth_handlers_me(void *ctx, struct http_exchange *x);

#endif
