/*
 * change_clock without its say on fills: whoever has read a link fills Redis with it, whatever has been heard of it
 * since.
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
