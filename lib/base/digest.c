#include "lib/base/digest.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>

void digest_sha256(const void *bytes, size_t len, uint8_t out[static DIGEST_SIZE])
{
	if (EVP_Digest(bytes, len, out, NULL, EVP_sha256(), NULL) != 1)
		abort();
}

void digest_hmac_sha256(const void *key, size_t key_len, const void *bytes, size_t len, uint8_t out[static DIGEST_SIZE])
{
	if (key_len > INT_MAX || !HMAC(EVP_sha256(), key, (int)key_len, bytes, len, out, NULL))
		abort();
}

bool digest_equal(const uint8_t a[static DIGEST_SIZE], const uint8_t b[static DIGEST_SIZE])
{
	return CRYPTO_memcmp(a, b, DIGEST_SIZE) == 0;
}

void digest_hex(const uint8_t *bytes, size_t len, char *out)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < len; i++) {
		out[2 * i] = digits[bytes[i] >> 4];
		out[2 * i + 1] = digits[bytes[i] & 15];
	}
	out[2 * len] = '\0';
}
