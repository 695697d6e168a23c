#include "services/redirector/denial_log.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "services/redirector/slug_hash.h"

#define PLACES 65536
#define FINGERPRINT_MASK UINT64_C(0xffffffff00000000)

struct denial_log {
	struct slug_hash_key key;
	_Atomic uint64_t places[PLACES]; /* the upper half of the hash, and the second of the denial; 0 = none */
};

struct denial_log *denial_log_new(void)
{
	struct denial_log *log = mem_zero(sizeof(*log));
	slug_hash_key_draw(&log->key);
	return log;
}

void denial_log_free(struct denial_log *log)
{
	free(log);
}

static uint32_t second_of(int64_t now_us)
{
	return (uint32_t)(now_us / CLOCK_US_PER_S);
}

void denial_log_note(struct denial_log *log, const char *slug, size_t slug_len, int64_t now_us)
{
	uint64_t hash = slug_hash(&log->key, slug, slug_len);
	atomic_store_explicit(&log->places[hash % PLACES], (hash & FINGERPRINT_MASK) | second_of(now_us),
	                      memory_order_relaxed);
}

bool denial_log_has(const struct denial_log *log, const char *slug, size_t slug_len, int64_t now_us)
{
	uint64_t hash = slug_hash(&log->key, slug, slug_len);
	uint64_t place = atomic_load_explicit(&log->places[hash % PLACES], memory_order_relaxed);
	return place != 0 && (place & FINGERPRINT_MASK) == (hash & FINGERPRINT_MASK) &&
	       second_of(now_us) - (uint32_t)place <= DENIAL_LOG_REMEMBERS_S;
}
