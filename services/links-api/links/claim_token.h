/*
 * Safe from any thread. A claim token proves that its holder created an anonymous link. With it, a
 * user can move the link into their account. The token is shown once; only its SHA-256 is stored.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_CLAIM_TOKEN_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_CLAIM_TOKEN_H

#include <stdint.h>

#include "lib/base/digest.h"

#define CLAIM_TOKEN_PREFIX "wmc_"
#define CLAIM_TOKEN_RANDOM_LENGTH 43 /* drawn from 62 characters: 256 bits */
#define CLAIM_TOKEN_SIZE (sizeof(CLAIM_TOKEN_PREFIX) + CLAIM_TOKEN_RANDOM_LENGTH)

struct claim_token {
	char text[CLAIM_TOKEN_SIZE];
	uint8_t hash[DIGEST_SIZE];
};

void claim_token_make(struct claim_token *out);

void claim_token_hash(const char *text, uint8_t out[static DIGEST_SIZE]);

#endif
