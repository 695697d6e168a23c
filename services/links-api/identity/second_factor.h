/*
 * The second factor of a login with a password: codes of an authenticator app (TOTP, RFC 6238: SHA-1,
 * 6 digits, 30 seconds; liboath), and recovery codes for who has lost the app. In columns of users. One
 * thread at a time per connection. Errors of pg_conn_query pass through.
 *
 * A code is accepted one step early or late, and once: the last used step is stored, and none up to it
 * is accepted again, on any instance. A recovery code is accepted once, too.
 *
 * The secret is stored as it is. A key derived from JWT_SECRET would end all factors with the rotation
 * of that, and one more key would stand beside PG_URL anyway. Only links-api may read the column, and
 * who has the database has still no password. Recovery codes have 80 random bits, so that their SHA-256
 * is enough.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_SECOND_FACTOR_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_SECOND_FACTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/digest.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/postgres/pg_conn.h"

#define SECOND_FACTOR_SECRET_BYTES 20
#define SECOND_FACTOR_SECRET_SIZE 33 /* in base 32, with the NUL */
#define SECOND_FACTOR_DIGITS 6
#define SECOND_FACTOR_STEP_S 30
#define SECOND_FACTOR_RECOVERY_CODES 10
#define SECOND_FACTOR_OFFER_S 3600
/* As people type a code: digits in groups, or a recovery code. */
#define SECOND_FACTOR_TYPED_MAX 40

struct second_factor_code {
	bool is_recovery;
	char digits[SECOND_FACTOR_DIGITS + 1];
	/* Of a recovery code. */
	uint8_t hash[DIGEST_SIZE];
};

/*
 * Reads a code: 6 digits, or 16 letters and digits in any case, with any spaces and hyphens.
 * ERR_INVALID: neither. Pure.
 */
enum err second_factor_parse(const char *typed, struct second_factor_code *out) MUST_CHECK;

/*
 * The step whose code this is: that of now, the one before or the one after. ERR_NOT_FOUND: of none of
 * them. Pure.
 */
enum err second_factor_step(const uint8_t secret[static SECOND_FACTOR_SECRET_BYTES],
                            const char digits[static SECOND_FACTOR_DIGITS + 1], int64_t now_us,
                            int64_t *step) MUST_CHECK;

/*
 * Appends what apps read as a QR code:
 * "otpauth://totp/ISSUER:EMAIL?secret=…&issuer=ISSUER". Check strbuf_status. Pure.
 */
void second_factor_url(const char *issuer, const char *email, const char *secret,
                       struct strbuf *out);

struct second_factor_offer {
	char secret[SECOND_FACTOR_SECRET_SIZE];
	bool is_new;
	/* An app may have an earlier secret, which is worthless now. */
	bool replaces_earlier;
};

/*
 * A secret, which is no factor before its first code. For SECOND_FACTOR_OFFER_S, or until a new password,
 * it is the same again. ERR_CONFLICT: the account has a factor.
 */
enum err second_factor_offer(struct pg_conn *conn, int64_t user_id,
                             struct second_factor_offer *out) MUST_CHECK;

/*
 * Inside a transaction. The first code: the offered secret becomes the factor. Sessions but session_id and all access tokens
 * end, because they began without it. The caller owns *codes, the recovery codes as texts.
 * ERR_NOT_FOUND: the code is wrong. ERR_CONFLICT: nothing is offered, or the account has a factor.
 */
enum err second_factor_confirm(struct pg_conn *conn, int64_t user_id, int64_t session_id,
                               const struct second_factor_code *code, int64_t now_us,
                               struct json **codes) MUST_CHECK;

/* Uses up a code. ERR_NOT_FOUND: it is wrong or was used, or the account has no factor. */
enum err second_factor_use(struct pg_conn *conn, int64_t user_id,
                           const struct second_factor_code *code, int64_t now_us) MUST_CHECK;

/* Replaces the recovery codes. The caller owns *codes. ERR_NOT_FOUND: the account has no factor. */
enum err second_factor_renew(struct pg_conn *conn, int64_t user_id, struct json **codes) MUST_CHECK;

/* ERR_NOT_FOUND: the account has no factor. */
enum err second_factor_remove(struct pg_conn *conn, int64_t user_id) MUST_CHECK;

struct second_factor {
	/* 0 = none. */
	int64_t since_us;
	int64_t recovery_codes_left;
	/* A workspace of the user requires one. */
	bool is_required;
};

/* ERR_NOT_FOUND: no such account. */
enum err second_factor_get(struct pg_conn *conn, int64_t user_id,
                           struct second_factor *out) MUST_CHECK;

#endif
