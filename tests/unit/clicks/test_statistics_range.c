#include <stdint.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/clicks/statistics_range.h"
#include "tests/support/test.h"

#define DAY CLOCK_US_PER_DAY
#define HOUR CLOCK_US_PER_HOUR
#define QUARTER STATISTICS_RANGE_QUARTER_US
#define NOW (20000 * DAY)

static const struct statistics_span all = { 0, INT64_MAX };
static const struct statistics_span none = { 0, 0 };

static int64_t length(struct statistics_span span)
{
	return statistics_range_is_empty(&span) ? 0 : span.to_us - span.from_us;
}

static void expect(struct statistics_span span, int64_t from_us, int64_t to_us)
{
	assert_int_equal(span.from_us, from_us);
	assert_int_equal(span.to_us, to_us);
}

static void whole_days_need_neither_hours_nor_the_log(void **state)
{
	(void)state;
	struct statistics_range range =
		statistics_range_split((struct statistics_span){ NOW, NOW + 3 * DAY }, HOUR, all);
	expect(range.days, NOW, NOW + 3 * DAY);
	assert_int_equal(length(range.buckets[0]) + length(range.buckets[1]) +
	                         length(range.log[0]) + length(range.log[1]),
	                 0);
}

static void a_range_consists_of_edges_hours_and_days(void **state)
{
	(void)state;
	struct statistics_span span = { NOW + 5 * HOUR + 7, NOW + 3 * DAY + 2 * HOUR + 9 };
	struct statistics_range range = statistics_range_split(span, HOUR, all);
	expect(range.log[0], span.from_us, NOW + 6 * HOUR);
	expect(range.buckets[0], NOW + 6 * HOUR, NOW + DAY);
	expect(range.days, NOW + DAY, NOW + 3 * DAY);
	expect(range.buckets[1], NOW + 3 * DAY, NOW + 3 * DAY + 2 * HOUR);
	expect(range.log[1], NOW + 3 * DAY + 2 * HOUR, span.to_us);
	expect(range.rolled, NOW + 6 * HOUR, NOW + 3 * DAY + 2 * HOUR);
}

static void a_range_without_a_whole_bucket_comes_from_the_log_alone(void **state)
{
	(void)state;
	struct statistics_span span = { NOW + 1, NOW + 2 * HOUR - 1 };
	struct statistics_range range =
		statistics_range_split((struct statistics_span){ NOW + 1, NOW + HOUR }, HOUR, all);
	expect(range.log[0], NOW + 1, NOW + HOUR);
	assert_int_equal(length(range.log[1]) + length(range.rolled), 0);
	range = statistics_range_split(span, HOUR, all);
	expect(range.log[0], span.from_us, span.to_us);
	assert_int_equal(length(range.log[1]) + length(range.rolled) + length(range.days), 0);
	range = statistics_range_split(span, QUARTER, none);
	expect(range.rolled, NOW + QUARTER, NOW + 2 * HOUR - QUARTER);
}

static void days_without_roll_ups_consist_of_buckets(void **state)
{
	(void)state;
	struct statistics_span span = { NOW + 5 * HOUR, NOW + 4 * DAY + 2 * HOUR };
	struct statistics_span finished = { NOW + 2 * DAY, NOW + 3 * DAY };
	struct statistics_range range = statistics_range_split(span, HOUR, finished);
	expect(range.buckets[0], span.from_us, NOW + 2 * DAY);
	expect(range.days, NOW + 2 * DAY, NOW + 3 * DAY);
	expect(range.buckets[1], NOW + 3 * DAY, span.to_us);
	finished.to_us = finished.from_us;
	range = statistics_range_split(span, HOUR, finished);
	expect(range.buckets[0], span.from_us, span.to_us);
	assert_int_equal(length(range.days) + length(range.buckets[1]), 0);
	finished = (struct statistics_span){ NOW + 9 * DAY, NOW + 20 * DAY };
	assert_int_equal(length(statistics_range_split(span, HOUR, finished).days), 0);
}

static void assert_covers(struct statistics_span span, int64_t bucket_us,
                          struct statistics_span finished)
{
	struct statistics_range r = statistics_range_split(span, bucket_us, finished);
	int64_t rolled = length(r.buckets[0]) + length(r.buckets[1]) + length(r.days);
	assert_int_equal(length(r.log[0]) + length(r.log[1]) + rolled, length(span));
	assert_int_equal(length(r.rolled), rolled);
	assert_true(length(r.log[0]) < 2 * bucket_us && length(r.log[1]) < bucket_us);
	assert_int_equal(r.days.from_us % DAY + r.days.to_us % DAY, 0);
	assert_int_equal(r.rolled.from_us % bucket_us + r.rolled.to_us % bucket_us, 0);
	if (length(r.days) > 0)
		assert_true(r.days.from_us >= finished.from_us && r.days.to_us <= finished.to_us);
}

static void every_moment_is_counted_exactly_once(void **state)
{
	(void)state;
	srandom(1);
	for (int i = 0; i < 100000; i++) {
		struct statistics_span span = { NOW + random() % (4 * DAY), 0 };
		span.to_us = span.from_us + 1 + random() % (i % 2 ? 4 * DAY : 2 * HOUR);
		struct statistics_span finished = { NOW + random() % 4 * DAY,
			                            NOW + random() % 9 * DAY };
		assert_covers(span, HOUR, finished);
		assert_covers(span, QUARTER, finished);
	}
}

static void ends_before_the_log_move_down_to_whole_buckets(void **state)
{
	(void)state;
	struct statistics_span span = { NOW + 5, NOW + 2 * HOUR + 5 };
	struct statistics_span counted = statistics_range_countable(span, HOUR, NOW);
	expect(counted, span.from_us, span.to_us);
	counted = statistics_range_countable(span, HOUR, NOW + HOUR);
	expect(counted, NOW, span.to_us);
	counted = statistics_range_countable(span, HOUR, NOW + DAY);
	expect(counted, NOW, NOW + 2 * HOUR);
	counted = statistics_range_countable((struct statistics_span){ NOW + 5, NOW + 9 }, HOUR,
	                                     NOW + DAY);
	assert_true(statistics_range_is_empty(&counted));
	counted = statistics_range_countable(span, HOUR, 0);
	expect(counted, span.from_us, span.to_us);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_days_need_neither_hours_nor_the_log),
		cmocka_unit_test(a_range_consists_of_edges_hours_and_days),
		cmocka_unit_test(a_range_without_a_whole_bucket_comes_from_the_log_alone),
		cmocka_unit_test(days_without_roll_ups_consist_of_buckets),
		cmocka_unit_test(every_moment_is_counted_exactly_once),
		cmocka_unit_test(ends_before_the_log_move_down_to_whole_buckets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
