/*
 * Access tokens: JSON Web Tokens (RFC 7519) signed with HMAC-SHA-256 ("HS256") by libjwt. Pure.
 *
 * Claims: sub (the user id), iat, exp, jti, and gen (the generation of the account's or share's tokens)
 * unless it is 0. A new password starts a new generation. sub of a reader's token is "share:" and the SHA-256
 * of the share's token: random, so that it never opens another share, whatever the database has
 * forgotten. libjwt checks little besides the signature; this module checks the rest.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_ACCESS_TOKEN_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_ACCESS_TOKEN_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/digest.h"
#include "lib/base/entropy.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"

#define ACCESS_TOKEN_LIFETIME_S INT64_C(86400)
/* Each request with it asks whether the share is active, so it may last as long as a session. */
#define ACCESS_TOKEN_SHARE_LIFETIME_S INT64_C(2592000)
#define ACCESS_TOKEN_BYTES_MAX 4096
#define ACCESS_TOKEN_SIZE 512 /* of the tokens that we issue, with the NUL */
#define ACCESS_TOKEN_SECRET_BYTES_MIN 32
/* How far iat may be ahead of our clock: the token may come from an instance with another clock. */
#define ACCESS_TOKEN_SKEW_S INT64_C(60)

struct access_token_claims {
	int64_t user_id;
	/* Seconds since 1970-01-01T00:00:00Z. */
	int64_t issued_at_s;
	int64_t expires_at_s;
	int64_t generation;
	char id[ENTROPY_UUID_TEXT_SIZE];
};

/* Issues a token for ACCESS_TOKEN_LIFETIME_S from now. ERR_INTERNAL: the secret is too short. */
enum err access_token_issue(const char *secret, int64_t user_id, int64_t generation, int64_t now_us,
                            char out[static ACCESS_TOKEN_SIZE]) MUST_CHECK;

/*
 * Verifies a NUL-terminated string of any origin. ERR_INVALID for every token that this service did
 * not issue or that is not valid now. That is a token with one of these faults:
 * - not three parts of canonical base64url, or longer than ACCESS_TOKEN_BYTES_MAX
 * - another algorithm, an unknown critical header, a wrong signature
 * - a claim that is missing or has the wrong type
 * - issued in the future, or valid for longer than ACCESS_TOKEN_LIFETIME_S
 * ERR_LIMIT: nothing else is wrong, but it has expired.
 */
enum err access_token_verify(const char *secret, const char *token, int64_t now_us,
                             struct access_token_claims *out) MUST_CHECK;

/*
 * The same for a reader of a share, for at most ACCESS_TOKEN_SHARE_LIFETIME_S. hash: of the share's
 * token. generation: of its password.
 */
enum err access_token_issue_for_share(const char *secret, const uint8_t hash[static DIGEST_SIZE],
                                      int64_t generation, int64_t now_us,
                                      char out[static ACCESS_TOKEN_SIZE]) MUST_CHECK;
enum err access_token_verify_for_share(const char *secret, const char *token, int64_t now_us,
                                       uint8_t hash[static DIGEST_SIZE],
                                       int64_t *generation) MUST_CHECK;

/*
 * The secrets in JWT_SECRET: one, or several separated by commas or newlines. The first one signs,
 * all of them verify. To rotate, put the new secret first and remove the old one when its last
 * token has expired.
 */
#define ACCESS_TOKEN_SECRETS_MAX 8
#define ACCESS_TOKEN_SECRETS_BYTES_MAX 4096

struct access_token_secrets {
	size_t count;
	size_t at[ACCESS_TOKEN_SECRETS_MAX];
	char text[ACCESS_TOKEN_SECRETS_BYTES_MAX + 1];
};

/* Ignores empty entries. ERR_INVALID: none, one too short, or more than ACCESS_TOKEN_SECRETS_MAX. */
enum err access_token_parse_secrets(const char *text, struct access_token_secrets *out) MUST_CHECK;

/*
 * Returns 0 if access_token_parse_secrets accepts the value of JWT_SECRET. Otherwise returns 1 and
 * appends a line to problems that says which secret is wrong, without its text.
 */
size_t access_token_check_secrets(const char *text, struct strbuf *problems);

const char *access_token_secret(const struct access_token_secrets *list, size_t index);

#endif
