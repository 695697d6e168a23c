#include "services/redirector/cache/slug_hash.h"

#include <string.h>

#include "lib/base/entropy.h"

void slug_hash_key_generate(struct slug_hash_key *key)
{
	entropy_fill(key, sizeof(*key));
}

/* XOR of both halves of a 128-bit product: each input bit affects all output bits (wyhash). */
static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t slug_hash(const struct slug_hash_key *key, const char *slug, size_t len)
{
	uint64_t word[2] = { 0 };
	uint64_t h = 0;
	const char *end = slug + len;
	for (; end - slug > 16; slug += 16) {
		memcpy(word, slug, sizeof(word));
		h = mix(word[0] ^ key->part[2], word[1] ^ key->part[3] ^ h);
	}
	word[0] = word[1] = 0;
	memcpy(word, slug, (size_t)(end - slug));
	h ^= mix(word[0] ^ key->part[0], word[1] ^ key->part[1]);
	return mix(h ^ len, key->part[4] | 1);
}
