/*
 * A login that is on its way through a provider: what the browser keeps of it in a cookie. Pure.
 *
 * The cookie is signed and names the provider, so an answer of another provider never fits. state,
 * nonce and PKCE's verifier are derived from it with our key: only the state travels through the
 * browser, and the cookie alone gives none of them away. Each login is used once (oidc_store_use_login).
 *
 *   https   __Host-waymark-login=…; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure
 *   http    waymark-login=…; Path=/; Max-Age=600; HttpOnly; SameSite=Lax
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_OIDC_LOGIN_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_OIDC_LOGIN_H

#include <stdint.h>

#include "lib/base/digest.h"
#include "lib/base/err.h"
#include "services/links-api/identity/access_token.h"

#define OIDC_LOGIN_LIFETIME_S INT64_C(600)
#define OIDC_LOGIN_TEXT_SIZE (2 * DIGEST_SIZE + 1)
#define OIDC_LOGIN_CHALLENGE_SIZE 44
#define OIDC_LOGIN_COOKIE_SIZE 256

struct oidc_login {
	/* Who ties this login to their account, and by which session; 0 = nobody. */
	int64_t user_id, session_id;
	/* Lower-case hexadecimal. */
	char state[OIDC_LOGIN_TEXT_SIZE];
	char nonce[OIDC_LOGIN_TEXT_SIZE];
	char verifier[OIDC_LOGIN_TEXT_SIZE];
	/* Of the cookie: what "used once" means. */
	uint8_t hash[DIGEST_SIZE];
};

/* Begins one with this provider. login has user_id and session_id; the rest is written. */
void oidc_login_begin(const struct access_token_secrets *secrets, const char *provider,
                      int64_t now_s, struct oidc_login *login,
                      char cookie[static OIDC_LOGIN_COOKIE_SIZE]);

/*
 * Reads a cookie of any origin. ERR_INVALID: we did not make it for this provider. ERR_NOT_FOUND: it has
 * expired.
 */
enum err oidc_login_read(const struct access_token_secrets *secrets, const char *provider,
                         int64_t now_s, const char *cookie, struct oidc_login *out) MUST_CHECK;

/* PKCE's code_challenge (S256). */
void oidc_login_challenge(const struct oidc_login *login,
                          char out[static OIDC_LOGIN_CHALLENGE_SIZE]);

#endif
