/*
 * Pure. Access tokens: JSON Web Tokens (RFC 7519) signed with HMAC-SHA-256 ("HS256"), claims sub (the user's id), iat,
 * exp and jti, by libjwt; and gen, the account's generation of tokens, when it is not 0: a new password begins another. libjwt checks the signature and little else; everything that it leaves out is checked here.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCESS_ACCESS_TOKEN_H
#define WAYMARK_SERVICES_LINKS_API_ACCESS_ACCESS_TOKEN_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/entropy.h"
#include "lib/base/err.h"

#define ACCESS_TOKEN_LIFE_S INT64_C(86400)
#define ACCESS_TOKEN_BYTES_MAX 4096
#define ACCESS_TOKEN_SIZE 512 /* what we issue, with its NUL */
#define ACCESS_TOKEN_SECRET_BYTES_MIN 32
/* How far iat may lie ahead of our clock: another instance signed it by its own. */
#define ACCESS_TOKEN_SKEW_S INT64_C(60)

struct access_token_claims {
	int64_t user_id;
	int64_t issued_at_s; /* seconds since 1970-01-01T00:00:00Z */
	int64_t expires_at_s;
	int64_t generation;
	char id[ENTROPY_UUID_TEXT_SIZE];
};

/* A token for ACCESS_TOKEN_LIFE_S from now. ERR_INTERNAL: a secret that is too short. */
enum err access_token_issue(const char *secret, int64_t user_id, int64_t generation, int64_t now_us,
                            char out[static ACCESS_TOKEN_SIZE]) MUST_CHECK;

/*
 * token: any bytes of a stranger, with a NUL behind them. ERR_INVALID for whatever we have not issued: not three parts
 * of canonical base64url, longer than ACCESS_TOKEN_BYTES_MAX, another algorithm, unknown critical headers, a wrong
 * signature, a claim that is missing or of the wrong type, run out, issued in the future, or valid for longer than
 * ACCESS_TOKEN_LIFE_S.
 */
enum err access_token_verify(const char *secret, const char *token, int64_t now_us,
                             struct access_token_claims *out) MUST_CHECK;

#endif
