/*
 * Control: recent_changes that allows every fill. A redirector fills Redis with a value even if it
 * has heard of a change since it read the value.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define recent_changes_start_fill recent_changes_start_fill_if_unchanged
#include "services/redirector/cache/recent_changes.c" // NOLINT(bugprone-suspicious-include)
#undef recent_changes_start_fill

bool recent_changes_start_fill(struct recent_changes *changes, const char *slug, size_t slug_len,
                               int64_t read_at_us, int64_t now_us);

bool recent_changes_start_fill(struct recent_changes *changes, const char *slug, size_t slug_len,
                               int64_t read_at_us, int64_t now_us)
{
	(void)recent_changes_start_fill_if_unchanged(changes, slug, slug_len, read_at_us, now_us);
	return true;
}
