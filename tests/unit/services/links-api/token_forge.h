/*
 * Builds correctly signed tokens from any header and claims, for tests. Pure.
 */
#ifndef WAYMARK_TESTS_UNIT_SERVICES_LINKS_API_TOKEN_FORGE_H
#define WAYMARK_TESTS_UNIT_SERVICES_LINKS_API_TOKEN_FORGE_H

#include <stddef.h>

/*
 * Writes len bytes as NUL-terminated base64url without padding (RFC 4648, 5). out has 4 * len / 3 +
 * 3 bytes.
 */
void token_forge_base64url(const void *bytes, size_t len, char *out);

/* Returns "<header>.<claims>.<HMAC-SHA-256>", encoded. Release with free(). */
char *token_forge_sign(const char *header, const char *claims, const char *secret);

#endif
