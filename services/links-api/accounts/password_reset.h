/*
 * HTTP handlers for a forgotten password; ctx is the struct request. An administrator creates a
 * reset token and gives it to the user, who sets a new password with it. The token works once and
 * for PASSWORD_RESET_LIFETIME_S. It is shown once; only its SHA-256 is stored.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_PASSWORD_RESET_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_PASSWORD_RESET_H

#include <stdint.h>

#include "lib/http/http_server.h"

#define PASSWORD_RESET_LIFETIME_S (INT64_C(24) * 60 * 60)

/*
 * POST /api/admin/users/{id}/password-reset → 201 {token, expires_at}, 404. An earlier token of the
 * account becomes invalid.
 */
enum http_progress password_reset_create(void *ctx, struct http_exchange *x);

/* POST /api/auth/password-reset {token, new_password} → 204, 400, 403 "wrong-token", 429 */
enum http_progress password_reset_use(void *ctx, struct http_exchange *x);

#endif
