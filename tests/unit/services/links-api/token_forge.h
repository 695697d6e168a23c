/*
 * Pure. For tests: makes tokens out of whatever header and claims it is given, rightly signed.
 */
#ifndef WAYMARK_TESTS_UNIT_SERVICES_LINKS_API_TOKEN_FORGE_H
#define WAYMARK_TESTS_UNIT_SERVICES_LINKS_API_TOKEN_FORGE_H

#include <stddef.h>

/* The NUL-terminated text of len bytes in base64url (RFC 4648, 5), without padding; out has 4 * len / 3 + 3 bytes. */
void token_forge_base64url(const void *bytes, size_t len, char *out);

/* "<header>.<claims>.<HMAC-SHA-256>", all encoded; release with free(). */
char *token_forge_sign(const char *header, const char *claims, const char *secret);

#endif
