/*
 * Checks the ID token of a provider (OpenID Connect Core 1.0, 3.1.3.7) and reads its claims.
 * Signatures and keys are libcjose's; everything else that the standard asks for is checked here.
 * Pure.
 *
 * Why libcjose, with requests of our own (oidc_client.h): it stands on OpenSSL and jansson, which are
 * here already, does nothing but keys and signatures, and is in Debian 12 and 13 (0.6.2). libiddawc
 * with librhonabwy does the requests as well, but brings ulfius, GnuTLS, nettle and libcurl's second
 * flavour with it, and the bounds of the requests would be its own. libjwt 1.10 reads no JWKS.
 * Replacing libcjose means replacing its few calls in oidc_token.c, and nothing else.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_OIDC_TOKEN_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_OIDC_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/json/json.h"

/* Any other difference between clocks refuses a login. */
#define OIDC_TOKEN_SKEW_S INT64_C(120)
#define OIDC_TOKEN_BYTES_MAX ((size_t)64 * 1024)
#define OIDC_TOKEN_SUBJECT_MAX 255
#define OIDC_TOKEN_PROVIDER_MAX 32

/*
 * All that a provider may name in "algorithms". The default is those of public keys: never "none", and
 * HS256 and its like, whose key is the client secret, only by name.
 */
#define OIDC_TOKEN_ALGORITHMS                                                                      \
	"RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 HS256 HS384 HS512"
bool oidc_token_knows_algorithm(const char *name);

struct oidc_provider;

struct oidc_token_check {
	const struct oidc_provider *provider;
	const char *nonce;
	int64_t now_s;
	/* The provider's key set (RFC 7517), of any content. */
	const struct json *keys;
};

/*
 * Verifies len bytes of any origin. OK: claims are the caller's; sub is a text of 1 to
 * OIDC_TOKEN_SUBJECT_MAX printable ASCII characters. ERR_NOT_FOUND: no key of the set fits, so a newer
 * set may help. ERR_INVALID: any other fault. *reason: a literal that names the fault, for the log.
 */
enum err oidc_token_verify(const struct oidc_token_check *check, const char *token, size_t len,
                           struct json **claims, const char **reason) MUST_CHECK;

/* --- claims; a name with dots is a path unless a claim has exactly this name: realm_access.roles --- */

/* NULL: there is no such claim. */
const struct json *oidc_token_find(const struct json *claims, const char *name);

/* The text of a claim; NULL: it is no text. */
const char *oidc_token_text(const struct json *claims, const char *name);

/* Whether the claim is this text, or an array that contains it, or is a boolean or number so written. */
bool oidc_token_has(const struct json *claims, const char *name, const char *value);

/* The same for "NAME=VALUE"; true for "". */
bool oidc_token_has_pair(const struct json *claims, const char *pair);

/*
 * The e-mail address if the provider has verified it: email_verified is true (or "true"), or it is
 * absent and the provider is trusted with addresses. NULL: there is none.
 */
const char *oidc_token_email(const struct json *claims, const struct oidc_provider *provider);

#endif
