#include "services/links-api/identity/share_token.h"

#include <string.h>

#include "lib/base/entropy.h"

void share_token_generate(struct share_token *out)
{
	const size_t prefix = strlen(SHARE_TOKEN_PREFIX);
	memcpy(out->text, SHARE_TOKEN_PREFIX, prefix);
	entropy_text("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
	             out->text + prefix, SHARE_TOKEN_RANDOM_LENGTH);
	share_token_hash(out->text, out->hash);
}

void share_token_hash(const char *text, uint8_t out[static DIGEST_SIZE])
{
	digest_sha256(text, strlen(text), out);
}
