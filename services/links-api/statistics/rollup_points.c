#include "services/links-api/statistics/rollup_points.h"

#include <stdbool.h>

#include "lib/base/clock.h"
#include "lib/clicks/rollup_list.h"

void rollup_points_init(struct rollup_points *points, const int64_t *starts, size_t count,
                        struct statistics_sums *sums)
{
	points->starts = starts;
	points->count = count;
	points->sums = sums;
}

void rollup_points_begin(struct rollup_points *points, struct statistics_span span)
{
	for (size_t i = 0; i < points->count; i++)
		points->sums[i] = (struct statistics_sums){ 0 };
	points->span = span;
	points->day_us = -1;
}

/* The last point that begins no later; count: there is none. */
static size_t find_point(const struct rollup_points *points, int64_t time_us)
{
	size_t low = 0;
	size_t high = points->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (points->starts[middle] <= time_us)
			low = middle + 1;
		else
			high = middle;
	}
	return low == 0 ? points->count : low - 1;
}

enum err rollup_points_add(struct rollup_points *points, int64_t time_us,
                           const struct statistics_sums *sums)
{
	size_t point = find_point(points, time_us);
	return point < points->count ? statistics_sums_add(&points->sums[point], sums) : OK;
}

static void find_points_of_day(struct rollup_points *points, int64_t day_us)
{
	size_t point = find_point(points, day_us);
	size_t next = point == points->count ? 0 : point + 1;
	for (size_t i = 0; i < ROLLUP_POINTS_QUARTERS; i++) {
		int64_t time_us = day_us + (int64_t)i * STATISTICS_RANGE_QUARTER_US;
		while (next < points->count && points->starts[next] <= time_us)
			point = next++;
		bool is_counted = time_us >= points->span.from_us && time_us < points->span.to_us;
		points->point_of[i] = is_counted ? point : points->count;
	}
	points->day_us = day_us;
}

/* Reads "0" to "95". Returns ROLLUP_POINTS_QUARTERS for anything else. */
static size_t read_quarter(const struct rollup_list_entry *entry)
{
	size_t quarter = 0;
	for (size_t i = 0; i < entry->len; i++) {
		if (entry->value[i] < '0' || entry->value[i] > '9' || i == 2)
			return ROLLUP_POINTS_QUARTERS;
		quarter = quarter * 10 + (size_t)(entry->value[i] - '0');
	}
	return entry->len == 0 || quarter > ROLLUP_POINTS_QUARTERS ? ROLLUP_POINTS_QUARTERS
	                                                           : quarter;
}

enum err rollup_points_add_quarters(struct rollup_points *points, int64_t time_us, const char *list)
{
	int64_t day_us = time_us - time_us % CLOCK_US_PER_DAY;
	if (day_us != points->day_us)
		find_points_of_day(points, day_us);
	const char *rest = rollup_list_begin(list);
	struct rollup_list_entry entry;
	enum err err = OK;
	while (err == OK && (err = rollup_list_next(&rest, &entry)) == OK) {
		size_t quarter = read_quarter(&entry);
		if (quarter == ROLLUP_POINTS_QUARTERS)
			return ERR_INVALID;
		size_t point = points->point_of[quarter];
		if (point < points->count)
			err = statistics_sums_add(&points->sums[point], &entry.sums);
	}
	return err == ERR_NOT_FOUND ? OK : err;
}
