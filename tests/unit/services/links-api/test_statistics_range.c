#include <stdint.h>
#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "services/links-api/statistics/statistics_range.h"
#include "tests/support/test.h"

#define DAY CLOCK_US_PER_DAY
#define HOUR CLOCK_US_PER_HOUR
#define QUARTER STATISTICS_RANGE_QUARTER_US
#define NOW (20000 * DAY)

static const struct statistics_reach everything = { 0 };

struct expected {
	enum statistics_source source;
	/* From where the previous piece ends. */
	int64_t to_us;
};

static void expect(struct statistics_span span, enum statistics_unit unit,
                   const struct statistics_reach *reach, const struct expected *expected,
                   size_t count)
{
	struct statistics_pieces pieces = statistics_range_split(span, unit, reach);
	int64_t from_us = span.from_us;
	assert_int_equal(pieces.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(pieces.of[i].source, expected[i].source);
		assert_int_equal(pieces.of[i].span.from_us, from_us);
		assert_int_equal(pieces.of[i].span.to_us, expected[i].to_us);
		from_us = pieces.of[i].span.to_us;
	}
	assert_int_equal(from_us, span.to_us);
}

/* EXPECT(span, unit, reach, { source, to_us }, …): exactly these pieces. */
#define EXPECT(span, unit, reach, ...)                                                             \
	expect(span, unit, reach, (const struct expected[]){ __VA_ARGS__ },                        \
	       ARRAY_SIZE(((const struct expected[]){ __VA_ARGS__ })))

TEST_CASE(whole_days_need_nothing_else)
{
	struct statistics_span span = { NOW, NOW + 3 * DAY };
	EXPECT(span, STATISTICS_VALUES, &everything, { STATISTICS_DAYS, span.to_us });
	EXPECT(span, STATISTICS_TOTALS, &everything, { STATISTICS_DAYS, span.to_us });
}

TEST_CASE(a_range_consists_of_edges_hours_and_days)
{
	struct statistics_span span = { NOW + 5 * HOUR + 7, NOW + 3 * DAY + 2 * HOUR + 9 };
	EXPECT(span, STATISTICS_VALUES, &everything, { STATISTICS_LOG, NOW + 6 * HOUR },
	       { STATISTICS_HOURS, NOW + DAY }, { STATISTICS_DAYS, NOW + 3 * DAY },
	       { STATISTICS_HOURS, NOW + 3 * DAY + 2 * HOUR }, { STATISTICS_LOG, span.to_us });
	span.to_us += QUARTER;
	EXPECT(span, STATISTICS_TOTALS, &everything, { STATISTICS_LOG, NOW + 5 * HOUR + QUARTER },
	       { STATISTICS_QUARTERS, NOW + 6 * HOUR }, { STATISTICS_HOURS, NOW + DAY },
	       { STATISTICS_DAYS, NOW + 3 * DAY }, { STATISTICS_HOURS, NOW + 3 * DAY + 2 * HOUR },
	       { STATISTICS_QUARTERS, NOW + 3 * DAY + 2 * HOUR + QUARTER },
	       { STATISTICS_LOG, span.to_us });
}

TEST_CASE(a_range_without_a_whole_bucket_comes_from_the_log_alone)
{
	struct statistics_span span = { NOW + 1, NOW + 2 * HOUR - 1 };
	EXPECT(span, STATISTICS_VALUES, &everything, { STATISTICS_LOG, span.to_us });
	span = (struct statistics_span){ NOW + 1, NOW + QUARTER - 1 };
	EXPECT(span, STATISTICS_TOTALS, &everything, { STATISTICS_LOG, span.to_us });
}

TEST_CASE(a_series_takes_quarters)
{
	struct statistics_span span = { NOW + 5 * QUARTER, NOW + 4 * DAY + 2 * QUARTER + 1 };
	EXPECT(span, STATISTICS_SERIES, &everything, { STATISTICS_QUARTERS, span.to_us - 1 },
	       { STATISTICS_LOG, span.to_us });
}

TEST_CASE(where_hours_are_deleted_days_and_the_log_take_their_place)
{
	struct statistics_span span = { NOW + 5 * HOUR, NOW + 4 * DAY + 2 * HOUR };
	struct statistics_reach reach = { .hours_since_us = NOW + 2 * DAY };
	EXPECT(span, STATISTICS_VALUES, &reach, { STATISTICS_LOG, NOW + DAY },
	       { STATISTICS_DAYS, NOW + 4 * DAY }, { STATISTICS_HOURS, span.to_us });
	EXPECT(span, STATISTICS_TOTALS, &reach, { STATISTICS_QUARTERS, NOW + DAY },
	       { STATISTICS_DAYS, NOW + 4 * DAY }, { STATISTICS_HOURS, span.to_us });
}

static void assert_covers(struct statistics_span span, enum statistics_unit unit,
                          const struct statistics_reach *reach)
{
	struct statistics_pieces pieces = statistics_range_split(span, unit, reach);
	int64_t at_us = span.from_us;
	for (size_t i = 0; i < pieces.count; i++) {
		const struct statistics_piece *piece = &pieces.of[i];
		static const int64_t units[] = { [STATISTICS_LOG] = 1,
			                         [STATISTICS_QUARTERS] = QUARTER,
			                         [STATISTICS_HOURS] = HOUR,
			                         [STATISTICS_DAYS] = DAY };
		assert_int_equal(piece->span.from_us, at_us);
		assert_true(piece->span.to_us > at_us);
		at_us = piece->span.to_us;
		assert_int_equal(piece->span.from_us % units[piece->source] +
		                         at_us % units[piece->source],
		                 0);
		if (piece->source == STATISTICS_LOG)
			assert_true(at_us - piece->span.from_us < 2 * DAY);
		if (piece->source == STATISTICS_HOURS)
			assert_true(piece->span.from_us >= reach->hours_since_us);
	}
	assert_int_equal(at_us, span.to_us);
}

TEST_CASE(every_moment_is_counted_exactly_once)
{
	srandom(1);
	for (int i = 0; i < 100000; i++) {
		struct statistics_span span = { NOW + random() % (4 * DAY), 0 };
		span.to_us = span.from_us + 1 + random() % (i % 2 ? 4 * DAY : 2 * HOUR);
		struct statistics_reach reach = { .hours_since_us = NOW + random() % 9 * DAY };
		for (enum statistics_unit unit = STATISTICS_VALUES; unit <= STATISTICS_SERIES;
		     unit++)
			assert_covers(span, unit, &reach);
	}
}

static void expect_countable(struct statistics_span span, enum statistics_unit unit,
                             int64_t log_since_us, int64_t hours_since_us, int64_t from_us,
                             int64_t to_us)
{
	const struct statistics_reach reach = { .log_since_us = log_since_us,
		                                .hours_since_us = hours_since_us };
	struct statistics_span counted = statistics_range_countable(span, unit, &reach);
	assert_int_equal(counted.from_us, from_us);
	assert_int_equal(counted.to_us, to_us);
}

TEST_CASE(ends_before_the_log_move_down_to_what_is_stored)
{
	struct statistics_span span = { NOW + HOUR + 5, NOW + 3 * HOUR + QUARTER + 5 };
	expect_countable(span, STATISTICS_VALUES, NOW, 0, span.from_us, span.to_us);
	expect_countable(span, STATISTICS_VALUES, 0, 0, span.from_us, span.to_us);
	expect_countable(span, STATISTICS_VALUES, NOW + 2 * HOUR, 0, NOW + HOUR, span.to_us);
	expect_countable(span, STATISTICS_VALUES, NOW + DAY, 0, NOW + HOUR, NOW + 3 * HOUR);
	expect_countable(span, STATISTICS_VALUES, NOW + DAY, NOW + DAY, NOW, NOW);
	expect_countable(span, STATISTICS_TOTALS, NOW + DAY, NOW + DAY, NOW + HOUR,
	                 NOW + 3 * HOUR + QUARTER);
}

TEST_MAIN()
