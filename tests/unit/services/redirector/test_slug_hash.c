#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/links/slug.h"
#include "services/redirector/cache/slug_hash.h"
#include "tests/support/test.h"

#define SLOTS 1024
#define SLUGS (SLOTS * 64)

TEST_CASE(spreads_consecutive_slugs_evenly)
{
	struct slug_hash_key key;
	slug_hash_key_generate(&key);
	int low[SLOTS] = { 0 };
	int high[SLOTS] = { 0 };
	for (int i = 0; i < SLUGS; i++) {
		char slug[SLUG_SIZE];
		int len = snprintf(slug, sizeof(slug), "a%d", i);
		uint64_t hash = slug_hash(&key, slug, (size_t)len);
		low[hash % SLOTS]++;
		high[hash >> 54]++;
	}
	/* The mean is 64 and the standard deviation 8: six of them occur once in 10^9. */
	for (int i = 0; i < SLOTS; i++) {
		assert_in_range(low[i], 16, 112);
		assert_in_range(high[i], 16, 112);
	}
}

TEST_CASE(depends_on_every_byte_and_on_the_length)
{
	struct slug_hash_key key;
	slug_hash_key_generate(&key);
	char slug[SLUG_LENGTH_MAX];
	memset(slug, 'a', sizeof(slug));
	for (size_t len = 1; len < sizeof(slug); len++)
		assert_true(slug_hash(&key, slug, len) != slug_hash(&key, slug, len + 1));
	uint64_t plain = slug_hash(&key, slug, sizeof(slug));
	for (size_t i = 0; i < sizeof(slug); i++) {
		slug[i] = 'b';
		assert_true(slug_hash(&key, slug, sizeof(slug)) != plain);
		slug[i] = 'a';
	}
}

TEST_CASE(depends_on_the_key)
{
	struct slug_hash_key one, other;
	slug_hash_key_generate(&one);
	slug_hash_key_generate(&other);
	assert_true(slug_hash(&one, "abc", 3) == slug_hash(&one, "abc", 3));
	assert_true(slug_hash(&one, "abc", 3) != slug_hash(&other, "abc", 3));
}

TEST_MAIN()
