#include "services/links-api/identity/secret.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/entropy.h"

#define ALPHABET "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

void secret_generate(const char *prefix, struct secret *out)
{
	char random[SECRET_RANDOM_LENGTH + 1];
	entropy_text(ALPHABET, random, SECRET_RANDOM_LENGTH);
	snprintf(out->text, sizeof(out->text), "%s%s", prefix, random);
	explicit_bzero(random, sizeof(random));
	secret_hash(out->text, out->hash);
}

bool secret_has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool secret_is_well_formed(const char *text, const char *prefix)
{
	if (!secret_has_prefix(text, prefix))
		return false;
	text += strlen(prefix);
	return strspn(text, ALPHABET) == SECRET_RANDOM_LENGTH && text[SECRET_RANDOM_LENGTH] == '\0';
}

void secret_hash(const char *text, uint8_t out[static DIGEST_SIZE])
{
	digest_sha256(text, strlen(text), out);
}
