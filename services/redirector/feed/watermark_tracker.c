#include "services/redirector/feed/watermark_tracker.h"

#include <stdlib.h>

#include "lib/base/mem.h"

void watermark_tracker_init(struct watermark_tracker *tracker, const struct clock *clock)
{
	*tracker = (struct watermark_tracker){ .clock = clock, .started_us = clock_now_us(clock) };
	atomic_init(&tracker->fresh_until_us, INT64_MIN);
	atomic_init(&tracker->continuous_since_us, WATERMARK_TRACKER_NOT_CONTINUOUS);
}

void watermark_tracker_clear(struct watermark_tracker *tracker)
{
	free(tracker->by_partition_us);
	tracker->by_partition_us = NULL;
}

void watermark_tracker_set_partitions(struct watermark_tracker *tracker, int32_t partitions)
{
	tracker->by_partition_us = mem_resize(tracker->by_partition_us, (size_t)partitions,
	                                      sizeof(*tracker->by_partition_us));
	while (tracker->partitions < partitions)
		tracker->by_partition_us[tracker->partitions++] = 0;
}

static int64_t lowest_watermark(const struct watermark_tracker *tracker)
{
	int64_t watermark_us = INT64_MAX;
	for (int32_t p = 0; p < tracker->partitions; p++) {
		if (tracker->by_partition_us[p] < watermark_us)
			watermark_us = tracker->by_partition_us[p];
	}
	return watermark_us;
}

static void advance(struct watermark_tracker *tracker, int64_t watermark_us)
{
	int64_t now_us = clock_now_us(tracker->clock);
	int64_t steady_us = clock_steady_us(tracker->clock);
	int64_t lag_us = now_us > watermark_us ? now_us - watermark_us : 0;
	atomic_store(&tracker->watermark_us, watermark_us);
	if (atomic_load(&tracker->continuous_since_us) == WATERMARK_TRACKER_NOT_CONTINUOUS)
		atomic_store(&tracker->continuous_since_us, steady_us);
	atomic_store(&tracker->fresh_until_us, steady_us + WATERMARK_TRACKER_FRESH_US - lag_us);
}

bool watermark_tracker_update(struct watermark_tracker *tracker, int32_t partition,
                              const struct watermark *watermark)
{
	if (watermark->generation > atomic_load(&tracker->generation))
		atomic_store(&tracker->generation, watermark->generation);
	if (watermark->partitions > tracker->partitions || partition >= tracker->partitions)
		return false;
	int64_t *newest = &tracker->by_partition_us[partition];
	if (watermark->as_of_us > *newest)
		*newest = watermark->as_of_us;
	int64_t watermark_us = lowest_watermark(tracker);
	if (watermark_us > atomic_load(&tracker->watermark_us))
		advance(tracker, watermark_us);
	return true;
}

void watermark_tracker_reset_partition(struct watermark_tracker *tracker, int32_t partition)
{
	atomic_store(&tracker->continuous_since_us, WATERMARK_TRACKER_NOT_CONTINUOUS);
	atomic_store(&tracker->fresh_until_us, INT64_MIN);
	atomic_store(&tracker->watermark_us, 0);
	if (partition < tracker->partitions)
		tracker->by_partition_us[partition] = 0;
}

int64_t watermark_tracker_lag_us(const struct watermark_tracker *tracker)
{
	int64_t watermark_us = atomic_load(&tracker->watermark_us);
	return clock_now_us(tracker->clock) - (watermark_us ? watermark_us : tracker->started_us);
}
