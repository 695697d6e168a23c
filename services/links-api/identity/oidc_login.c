#include "services/links-api/identity/oidc_login.h"

#include <cjose/base64.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/entropy.h"
#include "lib/base/number.h"

#define RANDOM_BYTES 32
#define LABELLED_SIZE (OIDC_LOGIN_COOKIE_SIZE + 16)

/* HMAC of the label and the signed part, in hexadecimal. Labels keep the results apart. */
static void derive(const char *secret, const char *label, const char *text, size_t len,
                   char out[static OIDC_LOGIN_TEXT_SIZE])
{
	char labelled[LABELLED_SIZE];
	uint8_t mac[DIGEST_SIZE];
	int labelled_len =
		snprintf(labelled, sizeof(labelled), "oidc-%s\n%.*s", label, (int)len, text);
	digest_hmac_sha256(secret, strlen(secret), labelled, (size_t)labelled_len, mac);
	digest_hex(mac, sizeof(mac), out);
}

static void derive_all(const char *secret, const char *cookie, size_t signed_len,
                       struct oidc_login *login)
{
	derive(secret, "state", cookie, signed_len, login->state);
	derive(secret, "nonce", cookie, signed_len, login->nonce);
	derive(secret, "verifier", cookie, signed_len, login->verifier);
	digest_sha256(cookie, signed_len, login->hash);
}

/* provider.expires.user.session.random.mac */
void oidc_login_begin(const struct access_token_secrets *secrets, const char *provider,
                      int64_t now_s, struct oidc_login *login,
                      char cookie[static OIDC_LOGIN_COOKIE_SIZE])
{
	const char *secret = access_token_secret(secrets, 0);
	uint8_t random[RANDOM_BYTES];
	char random_text[2 * RANDOM_BYTES + 1], mac[OIDC_LOGIN_TEXT_SIZE];
	entropy_fill(random, sizeof(random));
	digest_hex(random, sizeof(random), random_text);
	int len = snprintf(cookie, OIDC_LOGIN_COOKIE_SIZE,
	                   "%s.%" PRId64 ".%" PRId64 ".%" PRId64 ".%s", provider,
	                   now_s + OIDC_LOGIN_LIFETIME_S, login->user_id, login->session_id,
	                   random_text);
	derive(secret, "cookie", cookie, (size_t)len, mac);
	derive_all(secret, cookie, (size_t)len, login);
	snprintf(cookie + len, OIDC_LOGIN_COOKIE_SIZE - (size_t)len, ".%s", mac);
}

static bool is_signed(const char *secret, const char *cookie, size_t signed_len)
{
	char mac[OIDC_LOGIN_TEXT_SIZE];
	uint8_t expected[DIGEST_SIZE], sent[DIGEST_SIZE];
	derive(secret, "cookie", cookie, signed_len, mac);
	/* Hashes, because digest_equal compares digests. */
	digest_sha256(mac, strlen(mac), expected);
	digest_sha256(cookie + signed_len + 1, strlen(cookie + signed_len + 1), sent);
	return digest_equal(expected, sent);
}

/* Whose signature is right, so numbers are as we wrote them. */
static int64_t take_number(const char **at)
{
	char text[NUMBER_TEXT_SIZE];
	int64_t number = 0;
	size_t len = strcspn(*at, ".");
	snprintf(text, sizeof(text), "%.*s", (int)len, *at);
	*at += len + 1;
	return number_parse(text, 0, INT64_MAX, &number) == OK ? number : 0;
}

enum err oidc_login_read(const struct access_token_secrets *secrets, const char *provider,
                         int64_t now_s, const char *cookie, struct oidc_login *out)
{
	const char *dot = strrchr(cookie, '.');
	size_t provider_len = strlen(provider);
	if (strnlen(cookie, OIDC_LOGIN_COOKIE_SIZE) == OIDC_LOGIN_COOKIE_SIZE || !dot ||
	    strncmp(cookie, provider, provider_len) != 0 || cookie[provider_len] != '.')
		return ERR_INVALID;
	size_t signed_len = (size_t)(dot - cookie);
	for (size_t i = 0; i < secrets->count; i++) {
		const char *secret = access_token_secret(secrets, i);
		if (!is_signed(secret, cookie, signed_len))
			continue;
		const char *at = cookie + provider_len + 1;
		if (take_number(&at) <= now_s)
			return ERR_NOT_FOUND;
		out->user_id = take_number(&at);
		out->session_id = take_number(&at);
		derive_all(secret, cookie, signed_len, out);
		return OK;
	}
	return ERR_INVALID;
}

void oidc_login_challenge(const struct oidc_login *login,
                          char out[static OIDC_LOGIN_CHALLENGE_SIZE])
{
	uint8_t hash[DIGEST_SIZE];
	char *text = NULL;
	size_t len = 0;
	cjose_err error;
	digest_sha256(login->verifier, strlen(login->verifier), hash);
	if (!cjose_base64url_encode(hash, sizeof(hash), &text, &len, &error) ||
	    len >= OIDC_LOGIN_CHALLENGE_SIZE)
		abort(); /* out of memory */
	memcpy(out, text, len);
	out[len] = '\0';
	free(text);
}
