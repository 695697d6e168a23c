/*
 * Reading is safe from any thread; writing is one thread's, the feed's. How far this process has followed the topic of
 * link events, from the marks in it (lib/links/feed_mark.h).
 *
 *   as_of     everything committed before (PostgreSQL's clock) has been seen: the least of the newest marks of all partitions
 *   fresh     the wall clock is at most FEED_PROGRESS_FRESH_US past as_of
 *   covering  since then no event has been missed: what a store told later, and no event has changed, is so still while
 *             the feed is fresh
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_FEED_PROGRESS_H
#define WAYMARK_SERVICES_REDIRECTOR_FEED_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/links/feed_mark.h"

/* With two clocks that are 100 ms off and the way to the visitor, still within a second. */
#define FEED_PROGRESS_FRESH_US (700 * CLOCK_US_PER_MS)
#define FEED_PROGRESS_NOT_COVERING INT64_MAX

struct feed_progress {
	const struct clock *clock;
	_Atomic int64_t fresh_until_us;   /* steady */
	_Atomic int64_t covered_since_us; /* steady; FEED_PROGRESS_NOT_COVERING */
	_Atomic int64_t as_of_us;         /* wall; 0: not known */
	_Atomic int64_t generation;       /* of Redis' content, the largest that a mark told */
	int64_t began_us;                 /* wall */
	int64_t *as_of_by_partition;      /* the writer's */
	int32_t partitions;
};

void feed_progress_init(struct feed_progress *progress, const struct clock *clock);
void feed_progress_clear(struct feed_progress *progress);

/* --- the feed's thread --- */

/* That many partitions are read from now on. */
void feed_progress_found(struct feed_progress *progress, int32_t partitions);
/* False: the sender knows of partitions that we do not read yet, so the mark says nothing to us. */
bool feed_progress_mark(struct feed_progress *progress, int32_t partition, const struct feed_mark *mark);
/* Events of this partition may have been missed: what was read before is not covered any more. */
void feed_progress_lost(struct feed_progress *progress, int32_t partition);

/* --- everybody --- */

static inline bool feed_progress_is_fresh(const struct feed_progress *progress, int64_t now_steady_us)
{
	return now_steady_us <= atomic_load_explicit(&progress->fresh_until_us, memory_order_relaxed);
}

/* Whether what was read at that time has been watched since; it is right while the feed is fresh, too. */
static inline bool feed_progress_covers(const struct feed_progress *progress, int64_t read_at_steady_us)
{
	return read_at_steady_us >= atomic_load_explicit(&progress->covered_since_us, memory_order_relaxed);
}

static inline int64_t feed_progress_as_of_us(const struct feed_progress *progress)
{
	return atomic_load(&progress->as_of_us);
}

/* How far the wall clock is past as_of; without any as_of, past the start. */
int64_t feed_progress_lag_us(const struct feed_progress *progress);

#endif
