#include "services/redirector/cache/slug_hash.h"

#include <string.h>

#include "lib/base/entropy.h"
#include "lib/links/slug.h"

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
	uint64_t word[SLUG_LENGTH_MAX / 8] = { 0 };
	memcpy(word, slug, len);
	uint64_t h = mix(word[0] ^ key->part[0], word[1] ^ key->part[1]);
	if (len > 16)
		h ^= mix(word[2] ^ key->part[2], word[3] ^ key->part[3]);
	return mix(h ^ len, key->part[4] | 1);
}
