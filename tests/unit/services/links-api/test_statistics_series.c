#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "services/links-api/statistics/statistics.h"
#include "tests/support/test.h"

#define DAY CLOCK_US_PER_DAY
#define HOUR CLOCK_US_PER_HOUR
#define QUARTER STATISTICS_RANGE_QUARTER_US
#define NOW (20000 * DAY)

struct fixture {
	struct statistics_series points;
	struct statistics_sums sums[3];
};

/* Points of 5:15, 6:00 and the next day at 1:00; the range ends there at 2:30. */
static const int64_t starts[] = { NOW + 5 * HOUR + QUARTER, NOW + 6 * HOUR, NOW + DAY + HOUR };

static void begin(struct fixture *f)
{
	statistics_series_init(&f->points, starts, ARRAY_SIZE(starts), f->sums);
	statistics_series_begin(&f->points,
	                        (struct statistics_span){ NOW + 5 * HOUR + 2 * QUARTER,
	                                                  NOW + DAY + 2 * HOUR + 2 * QUARTER });
}

/* readable is "humans|bots|uniques|quarter;…". */
static enum err add(struct fixture *f, int64_t time_us, const char *readable)
{
	char *list = mem_text(readable);
	for (char *at = list; *at != '\0'; at++) {
		if (*at == ';')
			*at = '\x1e';
		else if (*at == '|')
			*at = '\x1f';
	}
	enum err err = statistics_series_add_quarters(&f->points, time_us, list);
	free(list);
	return err;
}

TEST_CASE(quarters_count_at_their_points_within_the_range)
{
	struct fixture f;
	begin(&f);
	/* 5:15 is before the range; 5:30, 5:45, 6:00, 23:45. */
	assert_int_equal(add(&f, NOW, "1|0|0|21;2|1|1|22;4|0|0|23;8|0|0|24;16|0|0|95"), OK);
	/* The hour of 5:00 of the same day: 5:45. */
	assert_int_equal(add(&f, NOW + 5 * HOUR, "32|0|0|23;-2|-1|-1|22"), OK);
	/* The next day: 0:00, 0:45, 1:00, 2:15, and 2:30, which is after the range. */
	assert_int_equal(add(&f, NOW + DAY, "1|0|0|0;2|0|0|3;4|0|0|4;8|0|0|9;16|0|0|10"), OK);
	assert_int_equal(add(&f, NOW, ""), OK);
	assert_int_equal(f.sums[0].humans, 4 + 32);
	assert_int_equal(f.sums[0].bots, 0);
	assert_int_equal(f.sums[0].uniques, 0);
	assert_int_equal(f.sums[1].humans, 8 + 16 + 1 + 2);
	assert_int_equal(f.sums[2].humans, 4 + 8);
}

TEST_CASE(sums_count_at_the_point_of_their_time)
{
	struct fixture f;
	begin(&f);
	const struct statistics_sums one = { 1, 2, 3 };
	const int64_t times[] = { NOW, starts[0], starts[1] - 1, starts[1], NOW + 9 * DAY };
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		assert_int_equal(statistics_series_add(&f.points, times[i], &one), OK);
	assert_int_equal(f.sums[0].humans, 2);
	assert_int_equal(f.sums[1].bots, 2);
	assert_int_equal(f.sums[2].uniques, 3);
	statistics_series_begin(&f.points, (struct statistics_span){ 0 });
	assert_int_equal(f.sums[0].humans, 0);
	assert_int_equal(add(&f, NOW, "1|1|1|23"), OK);
	assert_int_equal(f.sums[0].humans, 0);
}

TEST_CASE(points_may_be_as_short_as_quarters)
{
	int64_t quarters[STATISTICS_SERIES_QUARTERS];
	struct statistics_sums sums[STATISTICS_SERIES_QUARTERS];
	struct fixture f;
	for (size_t i = 0; i < STATISTICS_SERIES_QUARTERS; i++)
		quarters[i] = NOW + (int64_t)i * QUARTER;
	statistics_series_init(&f.points, quarters, STATISTICS_SERIES_QUARTERS, sums);
	statistics_series_begin(&f.points, (struct statistics_span){ NOW, NOW + DAY });
	assert_int_equal(add(&f, NOW, "7|0|0|0;9|0|0|95"), OK);
	for (size_t i = 0; i < STATISTICS_SERIES_QUARTERS; i++)
		assert_int_equal(sums[i].humans, i == 0 ? 7 : i == 95 ? 9 : 0);
}

TEST_CASE(a_list_with_anything_but_quarters_is_invalid)
{
	static const char *const lists[] = { "1|2|3|96", "1|2|3|100",     "1|2|3|", "1|2|3|-1",
		                             "1|2|3|1x", "1|2|3|(other)", "1|2|3",  "1|2|3|1;" };
	struct fixture f;
	begin(&f);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		assert_int_equal(add(&f, NOW, lists[i]), ERR_INVALID);
}

TEST_MAIN()
