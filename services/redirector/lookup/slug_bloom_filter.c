#include "services/redirector/lookup/slug_bloom_filter.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <xxhash.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"

/* For 1 % false positives at capacity: -ln(0.01) / ln(2)^2 bits per slug and -log2(0.01) probes. */
#define BITS_PER_THOUSAND 9586
#define PROBES 7
#define NEVER INT64_MIN

struct slug_bloom_filter {
	uint64_t seed;
	size_t slugs_max;
	uint64_t bit_count;
	_Atomic size_t count;
	_Atomic int64_t complete_for_us;
	_Atomic uint64_t *words;
};

struct slug_bloom_filter *slug_bloom_filter_new(size_t slugs)
{
	struct slug_bloom_filter *filter = mem_zero(sizeof(*filter));
	entropy_fill(&filter->seed, sizeof(filter->seed));
	filter->slugs_max = slugs;
	filter->bit_count = ((uint64_t)slugs * BITS_PER_THOUSAND / 1000 / 64 + 1) * 64;
	filter->words = mem_array(filter->bit_count / 64, sizeof(*filter->words));
	atomic_init(&filter->complete_for_us, NEVER);
	return filter;
}

void slug_bloom_filter_free(struct slug_bloom_filter *filter)
{
	if (!filter)
		return;
	free(filter->words);
	free(filter);
}

/* The upper half of the product maps a hash evenly to any number of bits (Lemire). */
static uint64_t position(const struct slug_bloom_filter *filter, XXH128_hash_t hash, unsigned probe)
{
	uint64_t mixed = hash.low64 + probe * (hash.high64 | 1);
	return (uint64_t)(((unsigned __int128)mixed * filter->bit_count) >> 64);
}

void slug_bloom_filter_add(struct slug_bloom_filter *filter, const char *slug, size_t slug_len)
{
	XXH128_hash_t hash = XXH3_128bits_withSeed(slug, slug_len, filter->seed);
	bool is_new = false;
	for (unsigned probe = 0; probe < PROBES; probe++) {
		uint64_t at = position(filter, hash, probe);
		uint64_t bit = UINT64_C(1) << (at % 64);
		is_new = !(atomic_fetch_or_explicit(&filter->words[at / 64], bit,
		                                    memory_order_release) &
		           bit) ||
		         is_new;
	}
	atomic_fetch_add_explicit(&filter->count, is_new, memory_order_relaxed);
}

bool slug_bloom_filter_may_contain(const struct slug_bloom_filter *filter, const char *slug,
                                   size_t slug_len)
{
	XXH128_hash_t hash = XXH3_128bits_withSeed(slug, slug_len, filter->seed);
	for (unsigned probe = 0; probe < PROBES; probe++) {
		uint64_t at = position(filter, hash, probe);
		uint64_t word = atomic_load_explicit(&filter->words[at / 64], memory_order_acquire);
		if (!(word >> (at % 64) & 1))
			return false;
	}
	return true;
}

size_t slug_bloom_filter_count(const struct slug_bloom_filter *filter)
{
	return atomic_load_explicit(&filter->count, memory_order_relaxed);
}

bool slug_bloom_filter_is_overfull(const struct slug_bloom_filter *filter)
{
	return slug_bloom_filter_count(filter) > filter->slugs_max;
}

size_t slug_bloom_filter_bytes(const struct slug_bloom_filter *filter)
{
	return filter->bit_count / 8;
}

void slug_bloom_filter_set_complete(struct slug_bloom_filter *filter, int64_t continuous_since_us)
{
	atomic_store(&filter->complete_for_us, continuous_since_us);
}

bool slug_bloom_filter_is_complete(const struct slug_bloom_filter *filter,
                                   int64_t continuous_since_us)
{
	return atomic_load(&filter->complete_for_us) == continuous_since_us;
}
