#include <stdint.h>
#include <string.h>

#include "lib/base/digest.h"
#include "tests/support/test.h"

static void assert_digest(const uint8_t digest[static DIGEST_SIZE], const char *hex)
{
	char text[2 * DIGEST_SIZE + 1];
	digest_hex(digest, DIGEST_SIZE, text);
	assert_string_equal(text, hex);
}

TEST_CASE(hashes_the_examples_of_fips_180)
{
	uint8_t digest[DIGEST_SIZE];
	digest_sha256("abc", 3, digest);
	assert_digest(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	digest_sha256("", 0, digest);
	assert_digest(digest, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_CASE(signs_the_examples_of_rfc_4231)
{
	uint8_t digest[DIGEST_SIZE];
	uint8_t long_key[131];
	memset(long_key, 0xaa, sizeof(long_key));

	digest_hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, digest);
	assert_digest(digest, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	digest_hmac_sha256(long_key, sizeof(long_key),
	                   "Test Using Larger Than Block-Size Key - Hash Key First", 54, digest);
	assert_digest(digest, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE(precomputed_key_gives_the_same_result_for_every_message)
{
	uint8_t key[64], text[300], expected[DIGEST_SIZE], digest[DIGEST_SIZE];
	struct digest_hmac_key precomputed;
	memset(text, 'x', sizeof(text));
	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)(i * 37);
	for (size_t key_len = 0; key_len <= sizeof(key); key_len++) {
		digest_hmac_key_init(&precomputed, key, key_len);
		for (size_t len = 0; len <= sizeof(text); len += 25) {
			digest_hmac_sha256(key, key_len, text, len, expected);
			digest_hmac_sha256_with(&precomputed, text, len, digest);
			assert_memory_equal(digest, expected, sizeof(digest));
		}
	}
}

TEST_CASE(empty_key_does_not_reuse_the_previous_one)
{
	uint8_t digest[DIGEST_SIZE];
	digest_hmac_sha256("key", 3, "text", 4, digest);
	digest_hmac_sha256(NULL, 0, "", 0, digest);
	assert_digest(digest, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST_CASE(digests_differ_by_any_bit)
{
	uint8_t a[DIGEST_SIZE], b[DIGEST_SIZE];
	digest_sha256("abc", 3, a);
	for (size_t bit = 0; bit < 8 * DIGEST_SIZE; bit++) {
		memcpy(b, a, sizeof(b));
		assert_true(digest_equal(a, b));
		b[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_false(digest_equal(a, b));
	}
}

TEST_CASE(hexadecimal_is_in_lower_case)
{
	char text[9];
	digest_hex((const uint8_t[]){ 0x00, 0x0f, 0xa0, 0xff }, 4, text);
	assert_string_equal(text, "000fa0ff");
	digest_hex(NULL, 0, text);
	assert_string_equal(text, "");
}

TEST_MAIN()
