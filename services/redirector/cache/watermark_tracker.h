/*
 * Readers: any thread. Writer: the thread of link_feed alone.
 *
 * Tells how far this process has read the topic of link events. The outbox relay of links-api sends
 * watermarks (lib/links/watermark.h): "every change that was committed before time T stands below
 * these ends of the partitions". A watermark may arrive before the records that it speaks of. It
 * waits until the position of the reader has reached every end.
 *
 *   watermark   every change committed before it (by PostgreSQL's clock) has been read
 *   fresh       the watermark lags the wall clock by at most fresh_us
 *   continuous  no event has been missed since a point in time. An entry that was read from a store
 *               after that point, and that no event has changed, is current while the feed is
 *               fresh.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_CACHE_WATERMARK_TRACKER_H
#define WAYMARK_SERVICES_REDIRECTOR_CACHE_WATERMARK_TRACKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/links/watermark.h"

/* Leaves room for two clocks that differ by 100 ms and for the response, within one second. */
#define WATERMARK_TRACKER_FRESH_US (700 * CLOCK_US_PER_MS)
#define WATERMARK_TRACKER_NOT_CONTINUOUS INT64_MAX
/* Watermarks that wait. Ten a second come, and one that is older than a second is of no use. */
#define WATERMARK_TRACKER_WAITING_MAX 16

struct watermark_tracker {
	const struct clock *clock;
	/* Constant. */
	int64_t fresh_us;
	/* Steady. */
	_Atomic int64_t fresh_until_us;
	/* Steady; or WATERMARK_TRACKER_NOT_CONTINUOUS. */
	_Atomic int64_t continuous_since_us;
	/* Wall; 0: unknown. */
	_Atomic int64_t watermark_us;
	/* Of Redis' content: the largest that a watermark named. */
	_Atomic int64_t generation;
	/* Wall. */
	int64_t started_us;

	/* The writer's. */
	/* That the feed reads. */
	int32_t partitions;
	/* Next offset to read; -1: unknown. */
	int64_t position[WATERMARK_PARTITIONS_MAX];
	/* In the newest watermark; 0: none. */
	int64_t end[WATERMARK_PARTITIONS_MAX];
	/* That watermark; wall. */
	int64_t newest_us;
	/* Of the epoch that it is of. Those of earlier epochs are ignored. */
	int64_t version_base;
	/* Oldest first. */
	struct watermark waiting[WATERMARK_TRACKER_WAITING_MAX];
	size_t waiting_count;
};

/* fresh_us: WATERMARK_TRACKER_FRESH_US in production. */
void watermark_tracker_init(struct watermark_tracker *tracker, const struct clock *clock,
                            int64_t fresh_us);

/* --- the writer --- */

/* The feed reads so many partitions now. Over WATERMARK_PARTITIONS_MAX it is never fresh. */
void watermark_tracker_set_partitions(struct watermark_tracker *tracker, int32_t partitions);
/* The next record of this partition will have this offset or a larger one. */
void watermark_tracker_set_position(struct watermark_tracker *tracker, int32_t partition,
                                    int64_t offset);
/*
 * Whether the watermark shows that the partition was created again or lost its end since the
 * newest watermark: records may have been missed at offsets that the feed has passed. Ask it for
 * every partition, and reset these, before watermark_tracker_update.
 */
bool watermark_tracker_has_lost_end(const struct watermark_tracker *tracker,
                                    const struct watermark *watermark, int32_t partition);
/* False: the relay knows of partitions that we do not read yet; the watermark is ignored. */
bool watermark_tracker_update(struct watermark_tracker *tracker, const struct watermark *watermark);
/* Events of this partition may have been missed: the feed is no longer continuous. */
void watermark_tracker_reset_partition(struct watermark_tracker *tracker, int32_t partition);
/* Watermarks may have been missed, and with them that a partition has lost its end. */
void watermark_tracker_reset(struct watermark_tracker *tracker);

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
