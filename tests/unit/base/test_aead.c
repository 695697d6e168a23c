#include <stdint.h>
#include <string.h>

#include "lib/base/aead.h"
#include "tests/support/test.h"

static const uint8_t key[AEAD_KEY_SIZE] = "0123456789abcdef0123456789abcde";
static const char secret[] = "wmc_an answer that only its recipient may read";

TEST_CASE(decrypts_what_it_encrypted)
{
	uint8_t sealed[sizeof(secret) + AEAD_OVERHEAD];
	char opened[sizeof(secret)] = "";
	aead_seal(key, secret, sizeof(secret), sealed);
	assert_null(memmem(sealed, sizeof(sealed), "answer", 6));
	assert_int_equal(aead_open(key, sealed, sizeof(sealed), opened), OK);
	assert_string_equal(opened, secret);
}

TEST_CASE(encrypts_an_empty_text)
{
	uint8_t sealed[AEAD_OVERHEAD];
	uint8_t none[1];
	aead_seal(key, "", 0, sealed);
	assert_int_equal(aead_open(key, sealed, sizeof(sealed), none), OK);
}

TEST_CASE(never_encrypts_twice_to_the_same_bytes)
{
	uint8_t once[sizeof(secret) + AEAD_OVERHEAD], again[sizeof(secret) + AEAD_OVERHEAD];
	aead_seal(key, secret, sizeof(secret), once);
	aead_seal(key, secret, sizeof(secret), again);
	assert_memory_not_equal(once, again, sizeof(once));
}

TEST_CASE(refuses_another_key)
{
	uint8_t sealed[sizeof(secret) + AEAD_OVERHEAD];
	uint8_t other[AEAD_KEY_SIZE];
	char opened[sizeof(secret)];
	memcpy(other, key, sizeof(other));
	other[AEAD_KEY_SIZE - 1] ^= 1;
	aead_seal(key, secret, sizeof(secret), sealed);
	assert_int_equal(aead_open(other, sealed, sizeof(sealed), opened), ERR_INVALID);
}

TEST_CASE(detects_each_changed_or_missing_byte)
{
	uint8_t sealed[sizeof(secret) + AEAD_OVERHEAD];
	char opened[sizeof(secret)];
	aead_seal(key, secret, sizeof(secret), sealed);
	for (size_t i = 0; i < sizeof(sealed); i++) {
		sealed[i] ^= 1;
		assert_int_equal(aead_open(key, sealed, sizeof(sealed), opened), ERR_INVALID);
		sealed[i] ^= 1;
		assert_int_equal(aead_open(key, sealed, i, opened), ERR_INVALID);
	}
	assert_int_equal(aead_open(key, sealed, sizeof(sealed), opened), OK);
}

TEST_MAIN()
