/*
 * Safe from any thread. When links were last changed, as the feed of events told, and when this process last put them
 * into Redis; both per bucket of slugs, so that it takes 64 KiB whatever happens. Two slugs in one bucket cost a
 * question more, never a wrong answer. Times are steady.
 *
 * A fill is noted before it is checked, a change before the fills are looked at: of a fill and a change that meet, at
 * least one sees the other.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_CHANGE_CLOCK_H
#define WAYMARK_SERVICES_REDIRECTOR_CHANGE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"

/*
 * How long after a change somebody may still write into Redis what it was before: a fill that PostgreSQL answered
 * before the change and that was held up. What Redis told within this time after a change may be such a value.
 */
#define CHANGE_CLOCK_SETTLE_US (5 * CLOCK_US_PER_S)

struct change_clock;

struct change_clock *change_clock_new(void);
void change_clock_free(struct change_clock *clock);

/*
 * An event of this slug has come, and will be applied now. True: we have filled its bucket within
 * CHANGE_CLOCK_SETTLE_US.
 */
bool change_clock_change(struct change_clock *clock, const char *slug, size_t slug_len, int64_t now_us);

/* Whether the last event of its bucket came before since_us. */
bool change_clock_is_quiet(const struct change_clock *clock, const char *slug, size_t slug_len, int64_t since_us);

/* Before what was read at read_at_us is put into Redis: false if it has changed since, and must not be. */
bool change_clock_fill(struct change_clock *clock, const char *slug, size_t slug_len, int64_t read_at_us,
                       int64_t now_us);

#endif
