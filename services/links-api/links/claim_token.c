#include "services/links-api/links/claim_token.h"

#include <string.h>

#include "lib/base/entropy.h"

void claim_token_make(struct claim_token *out)
{
	const size_t prefix = strlen(CLAIM_TOKEN_PREFIX);
	memcpy(out->text, CLAIM_TOKEN_PREFIX, prefix);
	entropy_text("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
	             out->text + prefix, CLAIM_TOKEN_RANDOM_LENGTH);
	claim_token_hash(out->text, out->hash);
}

void claim_token_hash(const char *text, uint8_t out[static DIGEST_SIZE])
{
	digest_sha256(text, strlen(text), out);
}
