/*
 * Safe from any thread. SHA-256 (FIPS 180-4), HMAC-SHA-256 (RFC 2104) and hexadecimal, by libcrypto.
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

/* Compares in a time that does not depend on the bytes. */
/*
 * An HMAC-SHA-256 key made ready for many messages: the states of the hash behind its two pads (RFC 2104). A value that
 * may be copied, as secret as the key itself. It saves the set-up, which costs several times a short message.
 */
struct digest_hmac_key {
	uint64_t inner[14];
	uint64_t outer[14];
};

/* key_len: at most 64 bytes. */
void digest_hmac_key_init(struct digest_hmac_key *ready, const void *key, size_t key_len);
void digest_hmac_sha256_with(const struct digest_hmac_key *ready, const void *bytes, size_t len,
                             uint8_t out[static DIGEST_SIZE]);

bool digest_equal(const uint8_t a[static DIGEST_SIZE], const uint8_t b[static DIGEST_SIZE]);

/* Lower-case hexadecimal; out has 2 * len + 1 bytes. */
void digest_hex(const uint8_t *bytes, size_t len, char *out);

#endif
