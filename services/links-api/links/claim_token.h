/*
 * Safe from any thread. Claim tokens: who made an anonymous link proves it with one, to make the link his own. Shown
 * once; only its SHA-256 is stored.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_CLAIM_TOKEN_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_CLAIM_TOKEN_H

#include <stdint.h>

#include "lib/base/digest.h"

#define CLAIM_TOKEN_PREFIX "wmc_"
#define CLAIM_TOKEN_RANDOM_LENGTH 43 /* of 62 characters: 256 bits */
#define CLAIM_TOKEN_SIZE (sizeof(CLAIM_TOKEN_PREFIX) + CLAIM_TOKEN_RANDOM_LENGTH)

struct claim_token {
	char text[CLAIM_TOKEN_SIZE];
	uint8_t hash[DIGEST_SIZE];
};

void claim_token_make(struct claim_token *out);

void claim_token_hash(const char *text, uint8_t out[static DIGEST_SIZE]);

#endif
