/*
 * The secrets in JWT_SECRET: one, or several separated by commas or newlines. The first one signs,
 * all of them verify. To rotate, put the new secret first and remove the old one when its last
 * token has expired. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCESS_JWT_SECRETS_H
#define WAYMARK_SERVICES_LINKS_API_ACCESS_JWT_SECRETS_H

#include <stddef.h>

#include "lib/base/err.h"

#define JWT_SECRETS_MAX 8
#define JWT_SECRETS_BYTES_MAX 4096
#define JWT_SECRETS_EACH_BYTES_MIN 32

struct jwt_secrets {
	size_t count;
	size_t at[JWT_SECRETS_MAX];
	char text[JWT_SECRETS_BYTES_MAX + 1];
};

/*
 * Ignores empty entries. ERR_INVALID: no secret, one that is too short, or more than
 * JWT_SECRETS_MAX.
 */
enum err jwt_secrets_parse(const char *text, struct jwt_secrets *out) MUST_CHECK;

const char *jwt_secrets_get(const struct jwt_secrets *list, size_t index);

#endif
