/*
 * Control: change_clock that allows every fill. A redirector fills Redis with a value even if it
 * has heard of a change since it read the value.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define change_clock_fill change_clock_fill_if_quiet
#include "services/redirector/change_clock.c" // NOLINT(bugprone-suspicious-include)
#undef change_clock_fill

bool change_clock_fill(struct change_clock *clock, const char *slug, size_t slug_len, int64_t read_at_us,
                       int64_t now_us);

bool change_clock_fill(struct change_clock *clock, const char *slug, size_t slug_len, int64_t read_at_us,
                       int64_t now_us)
{
	(void)change_clock_fill_if_quiet(clock, slug, slug_len, read_at_us, now_us);
	return true;
}
