#include "services/links-api/identity/session_cookie.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/entropy.h"
#include "services/links-api/identity/session_store.h"

#define ALPHABET "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define PREFIX_LENGTH (sizeof(SESSION_COOKIE_PREFIX) - 1)
#define HEADER_SIZE 192

/* Browsers accept the prefix __Host- only from this host, over HTTPS, for all paths. */
static const char *cookie_name(const struct request *r)
{
	return r->api->is_https ? "__Host-waymark" : "waymark";
}

void session_cookie_generate(struct session_secret *out)
{
	memcpy(out->text, SESSION_COOKIE_PREFIX, PREFIX_LENGTH);
	entropy_text(ALPHABET, out->text + PREFIX_LENGTH, SESSION_COOKIE_RANDOM_LENGTH);
	digest_sha256(out->text, strlen(out->text), out->hash);
}

static bool is_secret(const char *text)
{
	return strncmp(text, SESSION_COOKIE_PREFIX, PREFIX_LENGTH) == 0 &&
	       strspn(text + PREFIX_LENGTH, ALPHABET) == SESSION_COOKIE_RANDOM_LENGTH &&
	       text[SESSION_COOKIE_SECRET_SIZE - 1] == '\0';
}

enum err session_cookie_read(const struct request *r, uint8_t hash[static DIGEST_SIZE])
{
	const char *text;
	enum err err = http_exchange_cookie(r->exchange, cookie_name(r), &text);
	if (err == ERR_NOT_FOUND)
		return err;
	if (err != OK || !is_secret(text))
		return ERR_INVALID;
	digest_sha256(text, strlen(text), hash);
	return OK;
}

static enum err set(struct request *r, const char *value, int max_age_s)
{
	char header[HEADER_SIZE];
	snprintf(header, sizeof(header), "%s=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict%s",
	         cookie_name(r), value, max_age_s, r->api->is_https ? "; Secure" : "");
	return http_exchange_add_header(r->exchange, "Set-Cookie", header);
}

enum err session_cookie_set(struct request *r, const struct session_secret *secret)
{
	return set(r, secret->text, SESSION_STORE_LIFETIME_S);
}

void session_cookie_clear(struct request *r)
{
	(void)!set(r, "", 0);
}
