#include "services/links-api/identity/access_token.h"

#include <inttypes.h>
#include <jwt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/number.h"

#define SUBJECT_SIZE (NUMBER_TEXT_SIZE + sizeof("share:"))

/* A kind of token: the text before the id in sub, and how long it is valid at most. */
struct kind {
	const char *prefix;
	int64_t lifetime_s;
};

static const struct kind user_kind = { "", ACCESS_TOKEN_LIFETIME_S };
static const struct kind share_kind = { "share:", ACCESS_TOKEN_SHARE_LIFETIME_S };

static bool secret_is_valid(const char *secret)
{
	return secret && strlen(secret) >= ACCESS_TOKEN_SECRET_BYTES_MIN;
}

static void format_subject(const struct kind *kind, int64_t id, char out[static SUBJECT_SIZE])
{
	snprintf(out, SUBJECT_SIZE, "%s%" PRId64, kind->prefix, id);
}

static bool add_claims(jwt_t *jwt, const struct kind *kind, int64_t subject_id, int64_t generation,
                       int64_t now_s)
{
	uint8_t uuid[ENTROPY_UUID_SIZE];
	char id[ENTROPY_UUID_TEXT_SIZE];
	char subject[SUBJECT_SIZE];
	entropy_uuid4(uuid);
	entropy_uuid_format(uuid, id);
	format_subject(kind, subject_id, subject);
	return jwt_add_grant(jwt, "sub", subject) == 0 &&
	       jwt_add_grant_int(jwt, "iat", now_s) == 0 &&
	       jwt_add_grant_int(jwt, "exp", now_s + kind->lifetime_s) == 0 &&
	       jwt_add_grant(jwt, "jti", id) == 0 &&
	       (generation == 0 || jwt_add_grant_int(jwt, "gen", generation) == 0);
}

static enum err issue(const char *secret, const struct kind *kind, int64_t subject_id,
                      int64_t generation, int64_t now_us, char out[static ACCESS_TOKEN_SIZE])
{
	if (!secret_is_valid(secret))
		return ERR_INTERNAL;
	jwt_t *jwt = NULL;
	char *text = NULL;
	enum err err = ERR_INTERNAL;
	if (jwt_new(&jwt) == 0 &&
	    add_claims(jwt, kind, subject_id, generation, now_us / CLOCK_US_PER_S) &&
	    jwt_set_alg(jwt, JWT_ALG_HS256, (const unsigned char *)secret, (int)strlen(secret)) ==
	            0)
		text = jwt_encode_str(jwt);
	if (text && strlen(text) < ACCESS_TOKEN_SIZE) {
		snprintf(out, ACCESS_TOKEN_SIZE, "%s", text);
		err = OK;
	}
	free(text);
	jwt_free(jwt);
	return err;
}

enum err access_token_issue(const char *secret, int64_t user_id, int64_t generation, int64_t now_us,
                            char out[static ACCESS_TOKEN_SIZE])
{
	return issue(secret, &user_kind, user_id, generation, now_us, out);
}

enum err access_token_issue_for_share(const char *secret, int64_t share_id, int64_t now_us,
                                      char out[static ACCESS_TOKEN_SIZE])
{
	return issue(secret, &share_kind, share_id, 0, now_us, out);
}

static int base64url_value(char c)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	const char *at = c ? strchr(alphabet, c) : NULL;
	return at ? (int)(at - alphabet) : -1;
}

/* True if text is not empty and canonical: no padding, no unused bits, one spelling. */
static bool is_canonical_base64url(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (base64url_value(text[i]) < 0)
			return false;
	if (len == 0 || len % 4 == 1)
		return false;
	int last = base64url_value(text[len - 1]);
	return len % 4 == 0 || (len % 4 == 2 ? (last & 15) == 0 : (last & 3) == 0);
}

static bool is_well_formed(const char *token)
{
	if (strnlen(token, ACCESS_TOKEN_BYTES_MAX + 1) > ACCESS_TOKEN_BYTES_MAX)
		return false;
	for (size_t part = 0; part < 3; part++) {
		size_t len = strcspn(token, ".");
		if (!is_canonical_base64url(token, len) || (token[len] == '.') != (part < 2))
			return false;
		token += len + 1;
	}
	return true;
}

/* libjwt compares algorithm names case-insensitively and ignores headers that it does not know. */
static bool header_is_supported(jwt_t *jwt)
{
	char *critical = jwt_get_headers_json(jwt, "crit");
	char *unencoded = jwt_get_headers_json(jwt, "b64");
	const char *algorithm = jwt_get_header(jwt, "alg");
	bool is_valid = jwt_get_alg(jwt) == JWT_ALG_HS256 && algorithm &&
	                strcmp(algorithm, "HS256") == 0 && !critical && !unencoded;
	free(critical);
	free(unencoded);
	return is_valid;
}

/*
 * Parses the claim's JSON text, because jwt_get_grant_int returns 0 for a value that is not an
 * integer. ERR_NOT_FOUND: the claim is missing.
 */
static enum err get_int(jwt_t *jwt, const char *name, int64_t *out)
{
	char *json = jwt_get_grants_json(jwt, name);
	enum err err = json ? number_parse(json, INT64_MIN, INT64_MAX, out) : ERR_NOT_FOUND;
	free(json);
	return err;
}

/* We issue no nbf, but respect one that is there. */
static bool has_begun(jwt_t *jwt, int64_t now_s)
{
	int64_t begin_s;
	enum err err = get_int(jwt, "nbf", &begin_s);
	return err == ERR_NOT_FOUND || (err == OK && begin_s <= now_s);
}

/* A token without gen belongs to generation 0. */
static bool get_generation(jwt_t *jwt, int64_t *generation)
{
	enum err err = get_int(jwt, "gen", generation);
	if (err == ERR_NOT_FOUND)
		*generation = 0;
	return err == ERR_NOT_FOUND || (err == OK && *generation > 0);
}

/* user_id: the id in sub, of either kind. */
static bool get_claims(jwt_t *jwt, const struct kind *kind, struct access_token_claims *claims)
{
	const char *subject = jwt_get_grant(jwt, "sub");
	const char *id = jwt_get_grant(jwt, "jti");
	char canonical[SUBJECT_SIZE];
	const size_t prefix = strlen(kind->prefix);
	if (!subject || strncmp(subject, kind->prefix, prefix) != 0 ||
	    number_parse(subject + prefix, 1, INT64_MAX, &claims->user_id) != OK)
		return false;
	format_subject(kind, claims->user_id, canonical);
	if (strcmp(canonical, subject) != 0)
		return false;
	if (!id || strlen(id) != ENTROPY_UUID_TEXT_SIZE - 1)
		return false;
	memcpy(claims->id, id, sizeof(claims->id));
	return get_generation(jwt, &claims->generation) &&
	       get_int(jwt, "iat", &claims->issued_at_s) == OK &&
	       get_int(jwt, "exp", &claims->expires_at_s) == OK;
}

static bool is_current(const struct access_token_claims *claims, const struct kind *kind,
                       int64_t now_s)
{
	return claims->issued_at_s > 0 && claims->issued_at_s <= now_s + ACCESS_TOKEN_SKEW_S &&
	       claims->expires_at_s > now_s && claims->expires_at_s > claims->issued_at_s &&
	       claims->expires_at_s - claims->issued_at_s <= kind->lifetime_s;
}

static enum err verify(const char *secret, const struct kind *kind, const char *token,
                       int64_t now_us, struct access_token_claims *out)
{
	/* libjwt treats a NULL key as "do not verify", and copies tokens of any length. */
	if (!secret_is_valid(secret))
		return ERR_INTERNAL;
	if (!is_well_formed(token))
		return ERR_INVALID;
	jwt_t *jwt = NULL;
	if (jwt_decode(&jwt, token, (const unsigned char *)secret, (int)strlen(secret)) != 0)
		return ERR_INVALID;
	struct access_token_claims claims = { 0 };
	int64_t now_s = now_us / CLOCK_US_PER_S;
	bool is_valid = header_is_supported(jwt) && get_claims(jwt, kind, &claims) &&
	                is_current(&claims, kind, now_s) && has_begun(jwt, now_s);
	jwt_free(jwt);
	if (!is_valid)
		return ERR_INVALID;
	*out = claims;
	return OK;
}

enum err access_token_verify(const char *secret, const char *token, int64_t now_us,
                             struct access_token_claims *out)
{
	return verify(secret, &user_kind, token, now_us, out);
}

enum err access_token_verify_for_share(const char *secret, const char *token, int64_t now_us,
                                       int64_t *share_id)
{
	struct access_token_claims claims;
	enum err err = verify(secret, &share_kind, token, now_us, &claims);
	if (err == OK && claims.generation != 0)
		err = ERR_INVALID;
	if (err == OK)
		*share_id = claims.user_id;
	return err;
}
