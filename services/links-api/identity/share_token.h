/*
 * Tokens of shares: "wmshare_" and 256 random bits as text. A token is shown once; only its SHA-256
 * is stored. It opens its share (POST /api/shared/access) and is good for nothing else. Safe from
 * any thread.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_SHARE_TOKEN_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_SHARE_TOKEN_H

#include <stdint.h>

#include "lib/base/digest.h"

#define SHARE_TOKEN_PREFIX "wmshare_"
#define SHARE_TOKEN_RANDOM_LENGTH 43 /* drawn from 62 characters: 256 bits */
#define SHARE_TOKEN_SIZE (sizeof(SHARE_TOKEN_PREFIX) + SHARE_TOKEN_RANDOM_LENGTH)

struct share_token {
	char text[SHARE_TOKEN_SIZE];
	uint8_t hash[DIGEST_SIZE];
};

void share_token_generate(struct share_token *out);

/* text: of any origin. A malformed token has the hash of no share. */
void share_token_hash(const char *text, uint8_t out[static DIGEST_SIZE]);

#endif
