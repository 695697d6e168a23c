/*
 * Safe from any thread. Bytes that only who has the key can read, and that nobody can change unnoticed: AES-256-GCM
 * (NIST SP 800-38D) by libcrypto, with a random nonce in front and the tag behind.
 */
#ifndef WAYMARK_LIB_BASE_SEAL_H
#define WAYMARK_LIB_BASE_SEAL_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

#define SEAL_KEY_SIZE 32
#define SEAL_OVERHEAD 28 /* nonce and tag */
#define SEAL_BYTES_MAX ((size_t)1 << 30)

/* out has len + SEAL_OVERHEAD bytes. len: at most SEAL_BYTES_MAX, and one key for less than 2^32 calls. */
void seal_close(const uint8_t key[static SEAL_KEY_SIZE], const void *bytes, size_t len, void *out);

/* out has len - SEAL_OVERHEAD bytes. ERR_INVALID: another key, or not what seal_close wrote; out says nothing then. */
enum err seal_open(const uint8_t key[static SEAL_KEY_SIZE], const void *sealed, size_t len, void *out) MUST_CHECK;

#endif
