/*
 * The cookie of a session, a secret (secret.h). Scripts cannot read it, and browsers do not
 * send it with requests of other sites.
 *
 *   https   __Host-waymark=wms_…; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure
 *   http    waymark=wms_…; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict
 *
 * The scheme is that of PUBLIC_BASE_URL; http is for one machine. Not thread-safe: one thread at a
 * time per request.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_SESSION_COOKIE_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_SESSION_COOKIE_H

#include <stdint.h>

#include "lib/base/err.h"
#include "services/links-api/http/request.h"
#include "services/links-api/identity/secret.h"

/* ERR_NOT_FOUND: the request has no such cookie. ERR_INVALID: it is malformed, or sent twice. */
enum err session_cookie_read(const struct request *r, uint8_t hash[static DIGEST_SIZE]) MUST_CHECK;

/* ERR_LIMIT: the response has no room for the header. */
enum err session_cookie_set(struct request *r, const struct secret *secret) MUST_CHECK;

/* Makes the browser forget the cookie. Best effort. */
void session_cookie_clear(struct request *r);

#endif
