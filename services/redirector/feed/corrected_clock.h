/*
 * Readers: any thread. Writer: the thread of link_feed alone.
 *
 * A clock that is never behind PostgreSQL's for longer than a watermark takes to arrive. Links
 * expire by PostgreSQL's clock. A machine whose own clock is behind would still redirect, take an
 * old watermark for a fresh one, and answer 404 for a slug that was just issued.
 *
 *       corrected_clock_learn(&corrected, watermark.as_of_us, watermark.version_base);
 *       clock_now_us(&corrected.clock);                             // wherever time is read
 *
 * A watermark proves that PostgreSQL's clock has shown as_of_us. So the wall time is the later one
 * of the machine's clock and as_of_us plus the steady time since then. Of this window of 10 s and
 * the one before, the watermark that proves the latest time counts. A machine whose clock is ahead
 * keeps its time: it expires links early, which is the safe side. A new epoch of the database, to
 * which version_base rises, has the clock of another server: what was learned before is forgotten.
 *
 * The offset is the machine's clock minus PostgreSQL's. It includes the time that the quickest
 * watermark took. Beyond CORRECTED_CLOCK_OFFSET_MAX_US it is logged.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_FEED_CORRECTED_CLOCK_H
#define WAYMARK_SERVICES_REDIRECTOR_FEED_CORRECTED_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"

#define CORRECTED_CLOCK_OFFSET_MAX_US (100 * CLOCK_US_PER_MS)
#define CORRECTED_CLOCK_WINDOW_US (10 * CLOCK_US_PER_S)

struct corrected_clock {
	/* Pass its address to others; must be the first member. */
	struct clock clock;
	const struct clock *machine;
	const struct log *log;
	/* PostgreSQL's time minus steady time, at least; INT64_MIN: unknown. */
	_Atomic int64_t lead_us;
	/* The writer's from here on; steady. */
	int64_t window_end_us;
	/* The largest lead of this window. */
	int64_t current_us;
	/* And of the one before; INT64_MIN: none. */
	int64_t previous_us;
	/* Of the newest epoch. */
	int64_t version_base;
	/* That the offset is too large. */
	bool is_logged;
};

/* machine and log are borrowed. */
void corrected_clock_init(struct corrected_clock *corrected, const struct clock *machine,
                          const struct log *log);

/* PostgreSQL's clock has shown this time before now, in this epoch; earlier ones are ignored. */
void corrected_clock_learn(struct corrected_clock *corrected, int64_t postgres_us,
                           int64_t version_base);

/* Negative: the machine's clock is behind. 0: not known. */
int64_t corrected_clock_offset_us(const struct corrected_clock *corrected);

#endif
