#include "services/links-api/identity/session_cookie.h"

#include <stdio.h>

#include "services/links-api/identity/session_store.h"

#define HEADER_SIZE 192

/* Browsers accept the prefix __Host- only from this host, over HTTPS, for all paths. */
static const char *cookie_name(const struct request *r)
{
	return r->api->is_https ? "__Host-waymark" : "waymark";
}

enum err session_cookie_read(const struct request *r, uint8_t hash[static DIGEST_SIZE])
{
	const char *text;
	enum err err = http_exchange_cookie(r->exchange, cookie_name(r), &text);
	if (err == ERR_NOT_FOUND)
		return err;
	if (err != OK || !secret_is_well_formed(text, SECRET_SESSION))
		return ERR_INVALID;
	secret_hash(text, hash);
	return OK;
}

static enum err set(struct request *r, const char *value, int max_age_s)
{
	char header[HEADER_SIZE];
	snprintf(header, sizeof(header), "%s=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict%s",
	         cookie_name(r), value, max_age_s, r->api->is_https ? "; Secure" : "");
	return http_exchange_add_header(r->exchange, "Set-Cookie", header);
}

enum err session_cookie_set(struct request *r, const struct secret *secret)
{
	return set(r, secret->text, SESSION_STORE_LIFETIME_S);
}

void session_cookie_clear(struct request *r)
{
	(void)!set(r, "", 0);
}
