#include "services/links-api/identity/api_key.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/entropy.h"

#define ALPHABET "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
#define PREFIX_LENGTH (sizeof(API_KEY_PREFIX) - 1)

void api_key_generate(struct api_key_secret *out)
{
	memcpy(out->text, API_KEY_PREFIX, PREFIX_LENGTH);
	entropy_text(ALPHABET, out->text + PREFIX_LENGTH, API_KEY_RANDOM_LENGTH);
	snprintf(out->hint, sizeof(out->hint), "%.*s", API_KEY_HINT_LENGTH, out->text);
	digest_sha256(out->text, strlen(out->text), out->hash);
}

bool api_key_has_prefix(const char *text)
{
	return strncmp(text, API_KEY_PREFIX, PREFIX_LENGTH) == 0;
}

bool api_key_hash(const char *text, uint8_t out[static DIGEST_SIZE])
{
	size_t len = strnlen(text, API_KEY_SECRET_SIZE);
	if (len != API_KEY_SECRET_SIZE - 1 || !api_key_has_prefix(text) ||
	    strspn(text + PREFIX_LENGTH, ALPHABET) != API_KEY_RANDOM_LENGTH)
		return false;
	digest_sha256(text, len, out);
	return true;
}
