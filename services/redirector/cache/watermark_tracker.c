#include "services/redirector/cache/watermark_tracker.h"

#include <string.h>

#define UNKNOWN_POSITION (-1)

void watermark_tracker_init(struct watermark_tracker *tracker, const struct clock *clock,
                            int64_t fresh_us)
{
	memset(tracker, 0, sizeof(*tracker));
	tracker->clock = clock;
	tracker->fresh_us = fresh_us;
	tracker->started_us = clock_now_us(clock);
	atomic_init(&tracker->fresh_until_us, INT64_MIN);
	atomic_init(&tracker->continuous_since_us, WATERMARK_TRACKER_NOT_CONTINUOUS);
}

void watermark_tracker_set_partitions(struct watermark_tracker *tracker, int32_t partitions)
{
	if (partitions > WATERMARK_PARTITIONS_MAX)
		partitions = WATERMARK_PARTITIONS_MAX;
	for (int32_t p = tracker->partitions; p < partitions; p++)
		tracker->position[p] = UNKNOWN_POSITION;
	tracker->partitions = partitions;
	tracker->waiting_count = 0;
}

static void advance(struct watermark_tracker *tracker, int64_t watermark_us)
{
	int64_t now_us = clock_now_us(tracker->clock);
	int64_t steady_us = clock_steady_us(tracker->clock);
	int64_t lag_us = now_us > watermark_us ? now_us - watermark_us : 0;
	atomic_store(&tracker->watermark_us, watermark_us);
	if (atomic_load(&tracker->continuous_since_us) == WATERMARK_TRACKER_NOT_CONTINUOUS)
		atomic_store(&tracker->continuous_since_us, steady_us);
	atomic_store(&tracker->fresh_until_us, steady_us + tracker->fresh_us - lag_us);
}

static bool is_reached(const struct watermark_tracker *tracker, const struct watermark *watermark)
{
	for (int32_t p = 0; p < watermark->partitions; p++)
		if (tracker->position[p] < watermark->partition[p].end)
			return false;
	return true;
}

/* The ends never fall from one waiting watermark to the next. */
static void apply_reached(struct watermark_tracker *tracker)
{
	size_t reached = 0;
	while (reached < tracker->waiting_count && is_reached(tracker, &tracker->waiting[reached]))
		reached++;
	if (reached == 0)
		return;
	advance(tracker, tracker->waiting[reached - 1].as_of_us);
	tracker->waiting_count -= reached;
	memmove(tracker->waiting, tracker->waiting + reached,
	        tracker->waiting_count * sizeof(tracker->waiting[0]));
}

void watermark_tracker_set_position(struct watermark_tracker *tracker, int32_t partition,
                                    int64_t offset)
{
	if (partition >= tracker->partitions || offset <= tracker->position[partition])
		return;
	tracker->position[partition] = offset;
	apply_reached(tracker);
}

/* By the clock of the primary of its epoch, which may be behind that of the epoch before. */
static bool is_newer(const struct watermark_tracker *tracker, const struct watermark *watermark)
{
	if (watermark->version_base != tracker->version_base)
		return watermark->version_base > tracker->version_base;
	return watermark->as_of_us > tracker->newest_us;
}

bool watermark_tracker_has_lost_end(const struct watermark_tracker *tracker,
                                    const struct watermark *watermark, int32_t partition)
{
	return is_newer(tracker, watermark) && partition < tracker->partitions &&
	       partition < watermark->partitions &&
	       watermark->partition[partition].lowest_end < tracker->end[partition];
}

/* A full queue keeps the oldest ones, which are reached first. */
static void add_waiting(struct watermark_tracker *tracker, const struct watermark *watermark)
{
	if (tracker->waiting_count == WATERMARK_TRACKER_WAITING_MAX)
		tracker->waiting_count--;
	tracker->waiting[tracker->waiting_count++] = *watermark;
}

bool watermark_tracker_update(struct watermark_tracker *tracker, const struct watermark *watermark)
{
	if (watermark->generation > atomic_load(&tracker->generation))
		atomic_store(&tracker->generation, watermark->generation);
	if (!is_newer(tracker, watermark))
		return true;
	if (watermark->version_base > tracker->version_base)
		tracker->waiting_count = 0;
	tracker->version_base = watermark->version_base;
	tracker->newest_us = watermark->as_of_us;
	for (int32_t p = 0; p < watermark->partitions && p < tracker->partitions; p++)
		tracker->end[p] = watermark->partition[p].end;
	/* A relay that knows of fewer partitions than we read will soon find the others. */
	if (watermark->partitions != tracker->partitions)
		return watermark->partitions < tracker->partitions;
	add_waiting(tracker, watermark);
	apply_reached(tracker);
	return true;
}

static void stop_being_continuous(struct watermark_tracker *tracker)
{
	atomic_store(&tracker->continuous_since_us, WATERMARK_TRACKER_NOT_CONTINUOUS);
	atomic_store(&tracker->fresh_until_us, INT64_MIN);
	atomic_store(&tracker->watermark_us, 0);
	tracker->newest_us = 0;
	tracker->waiting_count = 0;
}

void watermark_tracker_reset_partition(struct watermark_tracker *tracker, int32_t partition)
{
	stop_being_continuous(tracker);
	if (partition >= tracker->partitions)
		return;
	tracker->position[partition] = UNKNOWN_POSITION;
	tracker->end[partition] = 0;
}

void watermark_tracker_reset(struct watermark_tracker *tracker)
{
	stop_being_continuous(tracker);
	memset(tracker->end, 0, sizeof(tracker->end));
}

int64_t watermark_tracker_lag_us(const struct watermark_tracker *tracker)
{
	int64_t watermark_us = atomic_load(&tracker->watermark_us);
	return clock_now_us(tracker->clock) - (watermark_us ? watermark_us : tracker->started_us);
}
