#include "lib/base/aead.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/entropy.h"

#define NONCE_SIZE 12
#define TAG_SIZE 16

static_assert(NONCE_SIZE + TAG_SIZE == AEAD_OVERHEAD, "AEAD_OVERHEAD is nonce and tag");

static bool encrypt(EVP_CIPHER_CTX *cipher, const uint8_t *key, const void *bytes, size_t len,
                    uint8_t *nonce)
{
	uint8_t *text = nonce + NONCE_SIZE;
	int written = 0, rest = 0;
	return EVP_EncryptInit_ex(cipher, EVP_aes_256_gcm(), NULL, key, nonce) == 1 &&
	       EVP_EncryptUpdate(cipher, text, &written, bytes, (int)len) == 1 &&
	       EVP_EncryptFinal_ex(cipher, text + written, &rest) == 1 &&
	       EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_GET_TAG, TAG_SIZE, text + len) == 1;
}

void aead_seal(const uint8_t key[static AEAD_KEY_SIZE], const void *bytes, size_t len, void *out)
{
	EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
	entropy_fill(out, NONCE_SIZE);
	if (!cipher || len > AEAD_BYTES_MAX || !encrypt(cipher, key, bytes, len, out))
		abort(); /* out of memory, or misused */
	EVP_CIPHER_CTX_free(cipher);
}

static bool decrypt(EVP_CIPHER_CTX *cipher, const uint8_t *key, const uint8_t *nonce, size_t len,
                    uint8_t *out)
{
	const uint8_t *text = nonce + NONCE_SIZE;
	uint8_t tag[TAG_SIZE];
	uint8_t nothing[1];
	int written = 0, rest = 0;
	for (size_t i = 0; i < TAG_SIZE; i++)
		tag[i] = text[len + i];
	return EVP_DecryptInit_ex(cipher, EVP_aes_256_gcm(), NULL, key, nonce) == 1 &&
	       EVP_DecryptUpdate(cipher, out, &written, text, (int)len) == 1 &&
	       EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_SET_TAG, TAG_SIZE, tag) == 1 &&
	       EVP_DecryptFinal_ex(cipher, nothing, &rest) == 1;
}

enum err aead_open(const uint8_t key[static AEAD_KEY_SIZE], const void *sealed, size_t len,
                   void *out)
{
	if (len < AEAD_OVERHEAD || len > AEAD_BYTES_MAX)
		return ERR_INVALID;
	EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
	if (!cipher)
		abort(); /* out of memory */
	bool is_authentic = decrypt(cipher, key, sealed, len - AEAD_OVERHEAD, out);
	EVP_CIPHER_CTX_free(cipher);
	return is_authentic ? OK : ERR_INVALID;
}
