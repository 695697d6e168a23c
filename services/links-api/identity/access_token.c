#include "services/links-api/identity/access_token.h"

#include <inttypes.h>
#include <jwt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/clock.h"
#include "lib/base/number.h"

#define SHARE_PREFIX "share:"
#define SUBJECT_SIZE (sizeof(SHARE_PREFIX) + 2 * DIGEST_SIZE)

static bool secret_is_valid(const char *secret)
{
	return secret && strlen(secret) >= ACCESS_TOKEN_SECRET_BYTES_MIN;
}

static void format_user(int64_t id, char out[static SUBJECT_SIZE])
{
	snprintf(out, SUBJECT_SIZE, "%" PRId64, id);
}

static void format_share(const uint8_t hash[static DIGEST_SIZE], char out[static SUBJECT_SIZE])
{
	memcpy(out, SHARE_PREFIX, sizeof(SHARE_PREFIX));
	digest_hex(hash, DIGEST_SIZE, out + strlen(SHARE_PREFIX));
}

static bool add_claims(jwt_t *jwt, const char *subject, int64_t lifetime_s, int64_t generation,
                       int64_t now_s)
{
	uint8_t uuid[ENTROPY_UUID_SIZE];
	char id[ENTROPY_UUID_TEXT_SIZE];
	entropy_uuid4(uuid);
	entropy_uuid_format(uuid, id);
	return jwt_add_grant(jwt, "sub", subject) == 0 &&
	       jwt_add_grant_int(jwt, "iat", now_s) == 0 &&
	       jwt_add_grant_int(jwt, "exp", now_s + lifetime_s) == 0 &&
	       jwt_add_grant(jwt, "jti", id) == 0 &&
	       (generation == 0 || jwt_add_grant_int(jwt, "gen", generation) == 0);
}

static enum err issue(const char *secret, const char *subject, int64_t lifetime_s,
                      int64_t generation, int64_t now_us, char out[static ACCESS_TOKEN_SIZE])
{
	if (!secret_is_valid(secret))
		return ERR_INTERNAL;
	jwt_t *jwt = NULL;
	char *text = NULL;
	enum err err = ERR_INTERNAL;
	if (jwt_new(&jwt) == 0 &&
	    add_claims(jwt, subject, lifetime_s, generation, now_us / CLOCK_US_PER_S) &&
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
	char subject[SUBJECT_SIZE];
	format_user(user_id, subject);
	return issue(secret, subject, ACCESS_TOKEN_LIFETIME_S, generation, now_us, out);
}

enum err access_token_issue_for_share(const char *secret, const uint8_t hash[static DIGEST_SIZE],
                                      int64_t generation, int64_t now_us,
                                      char out[static ACCESS_TOKEN_SIZE])
{
	char subject[SUBJECT_SIZE];
	format_share(hash, subject);
	return issue(secret, subject, ACCESS_TOKEN_SHARE_LIFETIME_S, generation, now_us, out);
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

/*
 * libjwt compares algorithm names case-insensitively, ignores headers that it does not know, and
 * (1.17) takes any typ.
 */
static bool header_is_supported(jwt_t *jwt)
{
	const char *type = jwt_get_header(jwt, "typ");
	char *critical = jwt_get_headers_json(jwt, "crit");
	char *unencoded = jwt_get_headers_json(jwt, "b64");
	const char *algorithm = jwt_get_header(jwt, "alg");
	bool is_valid = (!type || strcasecmp(type, "JWT") == 0) &&
	                jwt_get_alg(jwt) == JWT_ALG_HS256 && algorithm &&
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

static bool get_claims(jwt_t *jwt, char subject[static SUBJECT_SIZE],
                       struct access_token_claims *claims)
{
	const char *sub = jwt_get_grant(jwt, "sub");
	const char *id = jwt_get_grant(jwt, "jti");
	if (!sub || strlen(sub) >= SUBJECT_SIZE || !id || strlen(id) != ENTROPY_UUID_TEXT_SIZE - 1)
		return false;
	memcpy(subject, sub, strlen(sub) + 1);
	memcpy(claims->id, id, sizeof(claims->id));
	return get_generation(jwt, &claims->generation) &&
	       get_int(jwt, "iat", &claims->issued_at_s) == OK &&
	       get_int(jwt, "exp", &claims->expires_at_s) == OK;
}

static bool is_plausible(const struct access_token_claims *claims, int64_t lifetime_s,
                         int64_t now_s)
{
	return claims->issued_at_s > 0 && claims->issued_at_s <= now_s + ACCESS_TOKEN_SKEW_S &&
	       claims->expires_at_s > claims->issued_at_s &&
	       claims->expires_at_s - claims->issued_at_s <= lifetime_s;
}

/* Everything but the meaning of sub. */
static enum err verify(const char *secret, const char *token, int64_t lifetime_s, int64_t now_us,
                       char subject[static SUBJECT_SIZE], struct access_token_claims *out)
{
	/* libjwt treats a NULL key as "do not verify", and copies tokens of any length. */
	if (!secret_is_valid(secret))
		return ERR_INTERNAL;
	if (!is_well_formed(token))
		return ERR_INVALID;
	jwt_t *jwt = NULL;
	if (jwt_decode(&jwt, token, (const unsigned char *)secret, (int)strlen(secret)) != 0)
		return ERR_INVALID;
	int64_t now_s = now_us / CLOCK_US_PER_S;
	bool is_valid = header_is_supported(jwt) && get_claims(jwt, subject, out) &&
	                is_plausible(out, lifetime_s, now_s) && has_begun(jwt, now_s);
	jwt_free(jwt);
	if (!is_valid)
		return ERR_INVALID;
	return out->expires_at_s > now_s ? OK : ERR_LIMIT;
}

enum err access_token_verify(const char *secret, const char *token, int64_t now_us,
                             struct access_token_claims *out)
{
	struct access_token_claims claims = { 0 };
	char subject[SUBJECT_SIZE], canonical[SUBJECT_SIZE];
	enum err err = verify(secret, token, ACCESS_TOKEN_LIFETIME_S, now_us, subject, &claims);
	if (err != OK)
		return err;
	if (number_parse(subject, 1, INT64_MAX, &claims.user_id) != OK)
		return ERR_INVALID;
	format_user(claims.user_id, canonical);
	if (strcmp(canonical, subject) != 0)
		return ERR_INVALID;
	*out = claims;
	return OK;
}

enum err access_token_verify_for_share(const char *secret, const char *token, int64_t now_us,
                                       uint8_t hash[static DIGEST_SIZE], int64_t *generation)
{
	struct access_token_claims claims = { 0 };
	uint8_t read[DIGEST_SIZE] = { 0 };
	char subject[SUBJECT_SIZE], canonical[SUBJECT_SIZE];
	enum err err =
		verify(secret, token, ACCESS_TOKEN_SHARE_LIFETIME_S, now_us, subject, &claims);
	if (err != OK)
		return err;
	if (strlen(subject) != SUBJECT_SIZE - 1)
		return ERR_INVALID;
	for (size_t i = 0; i < DIGEST_SIZE; i++) {
		const char *digits = subject + strlen(SHARE_PREFIX) + 2 * i;
		const char byte[] = { digits[0], digits[1], '\0' };
		read[i] = (uint8_t)strtoul(byte, NULL, 16);
	}
	format_share(read, canonical);
	if (strcmp(canonical, subject) != 0)
		return ERR_INVALID;
	memcpy(hash, read, DIGEST_SIZE);
	*generation = claims.generation;
	return OK;
}

/* --- secrets --- */

#define SEPARATORS ",\r\n"

enum err access_token_parse_secrets(const char *text, struct access_token_secrets *out)
{
	struct access_token_secrets list = { 0 };
	size_t len = strnlen(text, sizeof(list.text));
	if (len == sizeof(list.text))
		return ERR_INVALID;
	memcpy(list.text, text, len);
	for (size_t i = strspn(list.text, SEPARATORS); list.text[i];) {
		size_t each = strcspn(list.text + i, SEPARATORS);
		size_t gap = strspn(list.text + i + each, SEPARATORS);
		if (each < ACCESS_TOKEN_SECRET_BYTES_MIN || list.count == ACCESS_TOKEN_SECRETS_MAX)
			return ERR_INVALID;
		list.at[list.count++] = i;
		list.text[i + each] = '\0';
		i += each + gap;
		if (gap == 0)
			break;
	}
	if (list.count == 0)
		return ERR_INVALID;
	*out = list;
	return OK;
}

size_t access_token_check_secrets(const char *text, struct strbuf *problems)
{
	struct access_token_secrets list;
	if (access_token_parse_secrets(text, &list) == OK)
		return 0;
	size_t count = 0;
	for (text += strspn(text, SEPARATORS); *text; text += strspn(text, SEPARATORS)) {
		size_t len = strcspn(text, SEPARATORS);
		count++;
		if (len < ACCESS_TOKEN_SECRET_BYTES_MIN) {
			strbuf_add_format(
				problems,
				"JWT_SECRET: secret %zu has %zu bytes, but at least %d are needed "
				"(a comma or newline begins a new secret)\n",
				count, len, ACCESS_TOKEN_SECRET_BYTES_MIN);
			return 1;
		}
		text += len;
	}
	strbuf_add_format(problems, "JWT_SECRET: has %zu secrets, but 1 to %d are allowed\n", count,
	                  ACCESS_TOKEN_SECRETS_MAX);
	return 1;
}

const char *access_token_secret(const struct access_token_secrets *list, size_t index)
{
	return list->text + list->at[index];
}
