/*
 * Authenticated encryption (AEAD): only a holder of the key can read the bytes, and every change is
 * detected. AES-256-GCM (NIST SP 800-38D) by libcrypto, with a random nonce before and the tag
 * after the ciphertext.
 *
 * Safe from any thread.
 */
#ifndef WAYMARK_LIB_BASE_AEAD_H
#define WAYMARK_LIB_BASE_AEAD_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

#define AEAD_KEY_SIZE 32
#define AEAD_OVERHEAD 28 /* nonce and tag */
#define AEAD_BYTES_MAX ((size_t)1 << 30)

/*
 * out has room for len + AEAD_OVERHEAD bytes. len is at most AEAD_BYTES_MAX. Use one key for fewer
 * than 2^32 calls.
 */
void aead_seal(const uint8_t key[static AEAD_KEY_SIZE], const void *bytes, size_t len, void *out);

/*
 * out has room for len - AEAD_OVERHEAD bytes. ERR_INVALID: another key, or not the output of
 * aead_seal; the content of out is meaningless then.
 */
enum err aead_open(const uint8_t key[static AEAD_KEY_SIZE], const void *sealed, size_t len,
                   void *out) MUST_CHECK;

#endif
