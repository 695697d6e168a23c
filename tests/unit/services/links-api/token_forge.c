#include "tests/unit/services/links-api/token_forge.h"

#include <stdint.h>
#include <string.h>

#include "lib/base/digest.h"
#include "lib/base/mem.h"

void token_forge_base64url(const void *bytes, size_t len, char *out)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	const uint8_t *in = bytes;
	for (size_t i = 0; i < len; i += 3) {
		uint32_t three = (uint32_t)in[i] << 16;
		three |= i + 1 < len ? (uint32_t)in[i + 1] << 8 : 0;
		three |= i + 2 < len ? in[i + 2] : 0;
		for (size_t j = 0; j < 4 && i + j <= len; j++)
			*out++ = alphabet[three >> (18 - 6 * j) & 63];
	}
	*out = '\0';
}

char *token_forge_sign(const char *header, const char *claims, const char *secret)
{
	const size_t header_len = strlen(header);
	const size_t claims_len = strlen(claims);
	char *token = mem_zero(2 * (header_len + claims_len + DIGEST_SIZE) + 16);
	uint8_t signature[DIGEST_SIZE];
	token_forge_base64url(header, header_len, token);
	token[strlen(token)] = '.';
	token_forge_base64url(claims, claims_len, token + strlen(token));
	digest_hmac_sha256(secret, strlen(secret), token, strlen(token), signature);
	token[strlen(token)] = '.';
	token_forge_base64url(signature, sizeof(signature), token + strlen(token));
	return token;
}
