/*
 * The secrets in JWT_SECRET: one, or several separated by commas or newlines. The first one signs,
 * all of them verify. To rotate, put the new secret first and remove the old one when its last
 * token has expired. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_JWT_SECRETS_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_JWT_SECRETS_H

#include <stddef.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"

#define JWT_SECRETS_MAX 8
#define JWT_SECRETS_BYTES_MAX 4096
#define JWT_SECRETS_EACH_BYTES_MIN 32

struct jwt_secrets {
	size_t count;
	size_t at[JWT_SECRETS_MAX];
	char text[JWT_SECRETS_BYTES_MAX + 1];
};

/* Ignores empty entries. ERR_INVALID: none, one too short, or more than JWT_SECRETS_MAX. */
enum err jwt_secrets_parse(const char *text, struct jwt_secrets *out) MUST_CHECK;

/*
 * Returns 0 if jwt_secrets_parse accepts the value of JWT_SECRET. Otherwise returns 1 and appends a
 * line to problems that says which secret is wrong, without its text.
 */
size_t jwt_secrets_check(const char *text, struct strbuf *problems);

const char *jwt_secrets_get(const struct jwt_secrets *list, size_t index);

#endif
