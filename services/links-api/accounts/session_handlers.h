/*
 * HTTP handlers of sessions, the logins of browsers; ctx is the struct request. Managing sessions
 * requires a session or an access token. A missing session and another user's get the same 404. The
 * login itself is auth_handlers_start_session.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_SESSION_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_SESSION_HANDLERS_H

#include "lib/http/http_server.h"
#include "services/links-api/http/request.h"
#include "services/links-api/identity/user_store.h"

/*
 * Starts a session of the user after the right password, with a new secret, and ends the one that
 * the request's cookie names. Responds with 201 {user} and the cookie. ERR_NOT_FOUND: no response;
 * the user was blocked or deleted, or has a new password since it was read.
 */
enum err session_handlers_start(struct request *r, const struct user *user) MUST_CHECK;

/* GET /api/auth/sessions → 200 {sessions} */
enum http_progress session_handlers_list(void *ctx, struct http_exchange *x);

/* DELETE /api/auth/sessions/{id} → 204, 404 */
enum http_progress session_handlers_delete(void *ctx, struct http_exchange *x);

/* DELETE /api/auth/session → 204, 404 (the request has an access token) */
enum http_progress session_handlers_end(void *ctx, struct http_exchange *x);

#endif
