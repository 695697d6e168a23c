#include "services/redirector/cache/recent_changes.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "lib/base/mem.h"
#include "services/redirector/cache/slug_hash.h"

#define BUCKETS 4096

struct recent_changes {
	struct slug_hash_key key;
	_Atomic int64_t changed_at_us[BUCKETS];
	_Atomic int64_t filled_at_us[BUCKETS];
};

struct recent_changes *recent_changes_new(void)
{
	struct recent_changes *changes = mem_zero(sizeof(*changes));
	slug_hash_key_generate(&changes->key);
	for (size_t i = 0; i < BUCKETS; i++) {
		atomic_init(&changes->changed_at_us[i], INT64_MIN / 2);
		atomic_init(&changes->filled_at_us[i], INT64_MIN / 2);
	}
	return changes;
}

void recent_changes_free(struct recent_changes *changes)
{
	free(changes);
}

static size_t bucket_of(const struct recent_changes *changes, const char *slug, size_t slug_len)
{
	return slug_hash(&changes->key, slug, slug_len) % BUCKETS;
}

bool recent_changes_add(struct recent_changes *changes, const char *slug, size_t slug_len,
                        int64_t now_us)
{
	size_t bucket = bucket_of(changes, slug, slug_len);
	atomic_store(&changes->changed_at_us[bucket], now_us);
	return now_us - atomic_load(&changes->filled_at_us[bucket]) <= RECENT_CHANGES_LATE_FILL_US;
}

bool recent_changes_none_since(const struct recent_changes *changes, const char *slug,
                               size_t slug_len, int64_t since_us)
{
	return atomic_load(&changes->changed_at_us[bucket_of(changes, slug, slug_len)]) < since_us;
}

bool recent_changes_start_fill(struct recent_changes *changes, const char *slug, size_t slug_len,
                               int64_t read_at_us, int64_t now_us)
{
	size_t bucket = bucket_of(changes, slug, slug_len);
	atomic_store(&changes->filled_at_us[bucket], now_us);
	return atomic_load(&changes->changed_at_us[bucket]) < read_at_us;
}
