#include "services/redirector/lookup/recent_misses.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "services/redirector/cache/slug_hash.h"

#define SLOTS 65536
#define FINGERPRINT_MASK UINT64_C(0xffffffff00000000)

struct recent_misses {
	struct slug_hash_key key;
	/* Upper half of the hash, and the second of the miss; 0: empty. */
	_Atomic uint64_t slots[SLOTS];
};

struct recent_misses *recent_misses_new(void)
{
	struct recent_misses *misses = mem_zero(sizeof(*misses));
	slug_hash_key_generate(&misses->key);
	return misses;
}

void recent_misses_free(struct recent_misses *misses)
{
	free(misses);
}

static uint32_t second_of(int64_t now_us)
{
	return (uint32_t)(now_us / CLOCK_US_PER_S);
}

void recent_misses_add(struct recent_misses *misses, const char *slug, size_t slug_len,
                       int64_t now_us)
{
	uint64_t hash = slug_hash(&misses->key, slug, slug_len);
	atomic_store_explicit(&misses->slots[hash % SLOTS],
	                      (hash & FINGERPRINT_MASK) | second_of(now_us), memory_order_relaxed);
}

bool recent_misses_has(const struct recent_misses *misses, const char *slug, size_t slug_len,
                       int64_t now_us)
{
	uint64_t hash = slug_hash(&misses->key, slug, slug_len);
	uint64_t slot = atomic_load_explicit(&misses->slots[hash % SLOTS], memory_order_relaxed);
	return slot != 0 && (slot & FINGERPRINT_MASK) == (hash & FINGERPRINT_MASK) &&
	       second_of(now_us) - (uint32_t)slot <= RECENT_MISSES_TTL_S;
}
