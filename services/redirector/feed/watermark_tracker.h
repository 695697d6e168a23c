/*
 * Readers: any thread. Writer: the thread of link_feed alone.
 *
 * Tells how far this process has read the topic of link events. The outbox relay of links-api
 * writes watermarks (lib/links/watermark.h) into every partition: "every change that was committed
 * before time T is ahead of this record in its partition". The watermark of the whole topic is the
 * lowest of the newest watermarks of all partitions.
 *
 *   watermark   every change committed before it (by PostgreSQL's clock) has been read
 *   fresh       the watermark lags the wall clock by at most WATERMARK_TRACKER_FRESH_US
 *   continuous  no event has been missed since a point in time. An entry that was read from a store
 *               after that point, and that no event has changed, is current while the feed is
 * fresh.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_FEED_WATERMARK_TRACKER_H
#define WAYMARK_SERVICES_REDIRECTOR_FEED_WATERMARK_TRACKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/links/watermark.h"

/* Leaves room for two clocks that differ by 100 ms and for the response, within one second. */
#define WATERMARK_TRACKER_FRESH_US (700 * CLOCK_US_PER_MS)
#define WATERMARK_TRACKER_NOT_CONTINUOUS INT64_MAX

struct watermark_tracker {
	const struct clock *clock;
	_Atomic int64_t fresh_until_us;      /* steady */
	_Atomic int64_t continuous_since_us; /* steady; or WATERMARK_TRACKER_NOT_CONTINUOUS */
	_Atomic int64_t watermark_us;        /* wall; 0: unknown */
	_Atomic int64_t generation; /* of Redis' content: the largest that a watermark named */
	int64_t started_us;         /* wall */
	int64_t *by_partition_us;   /* the writer's; wall */
	int32_t partitions;
};

void watermark_tracker_init(struct watermark_tracker *tracker, const struct clock *clock);
void watermark_tracker_clear(struct watermark_tracker *tracker);

/* --- the writer --- */

/* The feed reads this many partitions from now on. */
void watermark_tracker_set_partitions(struct watermark_tracker *tracker, int32_t partitions);
/* False: the relay knows of partitions that we do not read yet; the watermark is ignored. */
bool watermark_tracker_update(struct watermark_tracker *tracker, int32_t partition,
                              const struct watermark *watermark);
/* Events of this partition may have been missed: the feed is no longer continuous. */
void watermark_tracker_reset_partition(struct watermark_tracker *tracker, int32_t partition);

/* --- readers --- */

static inline bool watermark_tracker_is_fresh(const struct watermark_tracker *tracker,
                                              int64_t now_steady_us)
{
	return now_steady_us <=
	       atomic_load_explicit(&tracker->fresh_until_us, memory_order_relaxed);
}

/* Whether no event has been missed since that time. Says nothing about freshness. */
static inline bool watermark_tracker_is_continuous_since(const struct watermark_tracker *tracker,
                                                         int64_t since_steady_us)
{
	return since_steady_us >=
	       atomic_load_explicit(&tracker->continuous_since_us, memory_order_relaxed);
}

static inline int64_t watermark_tracker_watermark_us(const struct watermark_tracker *tracker)
{
	return atomic_load(&tracker->watermark_us);
}

/* How far the wall clock is ahead of the watermark; without a watermark, ahead of the start. */
int64_t watermark_tracker_lag_us(const struct watermark_tracker *tracker);

#endif
