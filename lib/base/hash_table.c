#include "lib/base/hash_table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* The kernel gives each process 16 random bytes, so the seed needs no variable of ours. */
uint64_t hash_table_seed(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t halves[2];
	if (!random)
		abort();
	memcpy(halves, random, sizeof(halves));
	return halves[0] ^ halves[1];
}

/* Multiply and fold, as in wyhash: each input bit affects all output bits. */
static uint64_t fold(uint64_t a, uint64_t b)
{
	__extension__ typedef unsigned __int128 uint128;
	uint128 product = (uint128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Eight bytes at a time. The seed is a factor of every step, so no collision holds for all seeds. */
uint64_t hash_table_hash(uint64_t seed, const void *key, size_t len)
{
	const char *rest = key;
	uint64_t hash = seed ^ len;
	uint64_t word;
	for (; len >= sizeof(word); rest += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, rest, sizeof(word));
		hash = fold(hash ^ word ^ UINT64_C(0xa0761d6478bd642f), seed | 1);
	}
	word = 0;
	memcpy(&word, rest, len);
	return fold(hash ^ word ^ UINT64_C(0xe7037ed1a0b428db), seed | 1);
}
