/*
 * SHA-256 (FIPS 180-4), HMAC-SHA-256 (RFC 2104) and hexadecimal text, by libcrypto.
 *
 * Safe from any thread.
 */
#ifndef WAYMARK_LIB_BASE_DIGEST_H
#define WAYMARK_LIB_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIGEST_SIZE 32

void digest_sha256(const void *bytes, size_t len, uint8_t out[static DIGEST_SIZE]);

void digest_hmac_sha256(const void *key, size_t key_len, const void *bytes, size_t len,
                        uint8_t out[static DIGEST_SIZE]);

/*
 * A precomputed HMAC-SHA-256 key: the hash states after its two pads (RFC 2104). Use it to
 * authenticate many short messages with one key; the set-up costs several times as much as a short
 * message. The struct may be copied, and is as secret as the key itself.
 */
struct digest_hmac_key {
	uint64_t inner[14];
	uint64_t outer[14];
};

/* key_len is at most 64. */
void digest_hmac_key_init(struct digest_hmac_key *hmac_key, const void *key, size_t key_len);
void digest_hmac_sha256_with(const struct digest_hmac_key *key, const void *bytes, size_t len,
                             uint8_t out[static DIGEST_SIZE]);

/* Compares in constant time. */
bool digest_equal(const uint8_t a[static DIGEST_SIZE], const uint8_t b[static DIGEST_SIZE]);

/* Lower-case hexadecimal. out has room for 2 * len + 1 bytes. */
void digest_hex(const uint8_t *bytes, size_t len, char *out);
/* The bytes of a text that has two lower-case hexadecimal digits for each of len. */
void digest_unhex(const char *text, uint8_t *bytes, size_t len);

#endif
