#include "services/redirector/change_clock.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "lib/base/mem.h"
#include "services/redirector/slug_hash.h"

#define BUCKETS 4096

struct change_clock {
	struct slug_hash_key key;
	_Atomic int64_t changed_at_us[BUCKETS];
	_Atomic int64_t filled_at_us[BUCKETS];
};

struct change_clock *change_clock_new(void)
{
	struct change_clock *clock = mem_zero(sizeof(*clock));
	slug_hash_key_draw(&clock->key);
	for (size_t i = 0; i < BUCKETS; i++) {
		atomic_init(&clock->changed_at_us[i], INT64_MIN / 2);
		atomic_init(&clock->filled_at_us[i], INT64_MIN / 2);
	}
	return clock;
}

void change_clock_free(struct change_clock *clock)
{
	free(clock);
}

static size_t bucket_of(const struct change_clock *clock, const char *slug, size_t slug_len)
{
	return slug_hash(&clock->key, slug, slug_len) % BUCKETS;
}

bool change_clock_change(struct change_clock *clock, const char *slug, size_t slug_len, int64_t now_us)
{
	size_t bucket = bucket_of(clock, slug, slug_len);
	atomic_store(&clock->changed_at_us[bucket], now_us);
	return now_us - atomic_load(&clock->filled_at_us[bucket]) <= CHANGE_CLOCK_SETTLE_US;
}

bool change_clock_is_quiet(const struct change_clock *clock, const char *slug, size_t slug_len, int64_t since_us)
{
	return atomic_load(&clock->changed_at_us[bucket_of(clock, slug, slug_len)]) < since_us;
}

bool change_clock_fill(struct change_clock *clock, const char *slug, size_t slug_len, int64_t read_at_us,
                       int64_t now_us)
{
	size_t bucket = bucket_of(clock, slug, slug_len);
	atomic_store(&clock->filled_at_us[bucket], now_us);
	return atomic_load(&clock->changed_at_us[bucket]) < read_at_us;
}
