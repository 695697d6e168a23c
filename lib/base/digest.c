/*
 * SHA256_CTX is the only hash state of OpenSSL that can be copied as a value. OpenSSL 3.0 marks it
 * as deprecated and keeps it.
 */
#define OPENSSL_API_COMPAT 0x10101000L

#include "lib/base/digest.h"

#include <assert.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

void digest_sha256(const void *bytes, size_t len, uint8_t out[static DIGEST_SIZE])
{
	/* Not EVP_Digest, which takes five times as long for a short text. */
	SHA256_CTX state;
	SHA256_Init(&state);
	SHA256_Update(&state, bytes, len);
	SHA256_Final(out, &state);
}

void digest_hmac_sha256(const void *key, size_t key_len, const void *bytes, size_t len,
                        uint8_t out[static DIGEST_SIZE])
{
	if (key_len > INT_MAX || !HMAC(EVP_sha256(), key, (int)key_len, bytes, len, out, NULL))
		abort();
}

static_assert(sizeof(SHA256_CTX) <= sizeof(((struct digest_hmac_key *)0)->inner),
              "digest_hmac_key must hold a SHA256_CTX");

/* The hash state after one block: the key, padded with zeros and XORed with pad. */
static SHA256_CTX hash_after_pad(const void *key, size_t key_len, uint8_t pad)
{
	uint8_t block[SHA256_CBLOCK] = { 0 };
	SHA256_CTX state;
	memcpy(block, key, key_len);
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] ^= pad;
	SHA256_Init(&state);
	SHA256_Update(&state, block, sizeof(block));
	OPENSSL_cleanse(block, sizeof(block));
	return state;
}

void digest_hmac_key_init(struct digest_hmac_key *ready, const void *key, size_t key_len)
{
	if (key_len > SHA256_CBLOCK)
		abort();
	SHA256_CTX inner = hash_after_pad(key, key_len, 0x36);
	SHA256_CTX outer = hash_after_pad(key, key_len, 0x5c);
	memcpy(ready->inner, &inner, sizeof(inner));
	memcpy(ready->outer, &outer, sizeof(outer));
}

void digest_hmac_sha256_with(const struct digest_hmac_key *ready, const void *bytes, size_t len,
                             uint8_t out[static DIGEST_SIZE])
{
	SHA256_CTX state;
	uint8_t inner[DIGEST_SIZE];
	memcpy(&state, ready->inner, sizeof(state));
	SHA256_Update(&state, bytes, len);
	SHA256_Final(inner, &state);
	memcpy(&state, ready->outer, sizeof(state));
	SHA256_Update(&state, inner, sizeof(inner));
	SHA256_Final(out, &state);
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

static uint8_t digit_of(char c)
{
	return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

void digest_unhex(const char *text, uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(digit_of(text[2 * i]) << 4 | digit_of(text[2 * i + 1]));
}
