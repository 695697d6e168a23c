#include "services/redirector/feed_progress.h"

#include <stdlib.h>

#include "lib/base/mem.h"

void feed_progress_init(struct feed_progress *progress, const struct clock *clock)
{
	*progress = (struct feed_progress){ .clock = clock, .began_us = clock_now_us(clock) };
	atomic_init(&progress->fresh_until_us, INT64_MIN);
	atomic_init(&progress->covered_since_us, FEED_PROGRESS_NOT_COVERING);
}

void feed_progress_clear(struct feed_progress *progress)
{
	free(progress->as_of_by_partition);
	progress->as_of_by_partition = NULL;
}

void feed_progress_found(struct feed_progress *progress, int32_t partitions)
{
	progress->as_of_by_partition =
		mem_resize(progress->as_of_by_partition, (size_t)partitions, sizeof(*progress->as_of_by_partition));
	while (progress->partitions < partitions)
		progress->as_of_by_partition[progress->partitions++] = 0;
}

static int64_t least(const struct feed_progress *progress)
{
	int64_t as_of_us = INT64_MAX;
	for (int32_t p = 0; p < progress->partitions; p++) {
		if (progress->as_of_by_partition[p] < as_of_us)
			as_of_us = progress->as_of_by_partition[p];
	}
	return as_of_us;
}

static void advance(struct feed_progress *progress, int64_t as_of_us)
{
	int64_t now_us = clock_now_us(progress->clock);
	int64_t steady_us = clock_steady_us(progress->clock);
	int64_t lag_us = now_us > as_of_us ? now_us - as_of_us : 0;
	atomic_store(&progress->as_of_us, as_of_us);
	if (atomic_load(&progress->covered_since_us) == FEED_PROGRESS_NOT_COVERING)
		atomic_store(&progress->covered_since_us, steady_us);
	atomic_store(&progress->fresh_until_us, steady_us + FEED_PROGRESS_FRESH_US - lag_us);
}

bool feed_progress_mark(struct feed_progress *progress, int32_t partition, const struct feed_mark *mark)
{
	if (mark->generation > atomic_load(&progress->generation))
		atomic_store(&progress->generation, mark->generation);
	if (mark->partitions > progress->partitions || partition >= progress->partitions)
		return false;
	int64_t *newest = &progress->as_of_by_partition[partition];
	if (mark->as_of_us > *newest)
		*newest = mark->as_of_us;
	int64_t as_of_us = least(progress);
	if (as_of_us > atomic_load(&progress->as_of_us))
		advance(progress, as_of_us);
	return true;
}

void feed_progress_lost(struct feed_progress *progress, int32_t partition)
{
	atomic_store(&progress->covered_since_us, FEED_PROGRESS_NOT_COVERING);
	atomic_store(&progress->fresh_until_us, INT64_MIN);
	atomic_store(&progress->as_of_us, 0);
	if (partition < progress->partitions)
		progress->as_of_by_partition[partition] = 0;
}

int64_t feed_progress_lag_us(const struct feed_progress *progress)
{
	int64_t as_of_us = atomic_load(&progress->as_of_us);
	return clock_now_us(progress->clock) - (as_of_us ? as_of_us : progress->began_us);
}
