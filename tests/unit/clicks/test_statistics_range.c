#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/clicks/statistics_range.h"

#define DAY CLOCK_US_PER_DAY
#define HOUR CLOCK_US_PER_HOUR
#define QUARTER STATISTICS_RANGE_QUARTER_US
#define NOW (20000 * DAY)

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
	struct statistics_range range = statistics_range_of_dimension((struct statistics_span){ NOW, NOW + 3 * DAY });
	expect(range.days, NOW, NOW + 3 * DAY);
	assert_int_equal(length(range.hours[0]) + length(range.hours[1]) + length(range.log[0]) + length(range.log[1]),
	                 0);
}

static void a_range_is_its_edges_hours_and_days(void **state)
{
	(void)state;
	struct statistics_span span = { NOW + 5 * HOUR + 7, NOW + 3 * DAY + 2 * HOUR + 9 };
	struct statistics_range range = statistics_range_of_dimension(span);
	expect(range.log[0], span.from_us, NOW + 6 * HOUR);
	expect(range.hours[0], NOW + 6 * HOUR, NOW + DAY);
	expect(range.days, NOW + DAY, NOW + 3 * DAY);
	expect(range.hours[1], NOW + 3 * DAY, NOW + 3 * DAY + 2 * HOUR);
	expect(range.log[1], NOW + 3 * DAY + 2 * HOUR, span.to_us);
	expect(range.rolled, NOW + 6 * HOUR, NOW + 3 * DAY + 2 * HOUR);
}

static void what_has_no_whole_bucket_comes_from_the_log_alone(void **state)
{
	(void)state;
	struct statistics_span span = { NOW + 1, NOW + 2 * HOUR - 1 };
	struct statistics_range range = statistics_range_of_dimension((struct statistics_span){ NOW + 1, NOW + HOUR });
	expect(range.log[0], NOW + 1, NOW + HOUR);
	assert_int_equal(length(range.log[1]) + length(range.rolled), 0);
	range = statistics_range_of_dimension(span);
	expect(range.log[0], span.from_us, span.to_us);
	assert_int_equal(length(range.log[1]) + length(range.rolled) + length(range.days), 0);
	range = statistics_range_of_total(span);
	expect(range.rolled, NOW + QUARTER, NOW + 2 * HOUR - QUARTER);
}

static void no_moment_is_lost_or_counted_twice(void **state)
{
	(void)state;
	srandom(1);
	for (int i = 0; i < 100000; i++) {
		struct statistics_span span = { NOW + random() % (4 * DAY), 0 };
		span.to_us = span.from_us + 1 + random() % (i % 2 ? 4 * DAY : 2 * HOUR);
		struct statistics_range d = statistics_range_of_dimension(span);
		int64_t parts =
			length(d.log[0]) + length(d.log[1]) + length(d.hours[0]) + length(d.hours[1]) + length(d.days);
		assert_int_equal(parts, length(span));
		assert_int_equal(length(d.rolled), parts - length(d.log[0]) - length(d.log[1]));
		assert_true(length(d.log[0]) < 2 * HOUR && length(d.log[1]) < HOUR);
		assert_int_equal(
			d.days.from_us % DAY + d.days.to_us % DAY + d.rolled.from_us % HOUR + d.rolled.to_us % HOUR, 0);
		struct statistics_range t = statistics_range_of_total(span);
		assert_int_equal(length(t.log[0]) + length(t.log[1]) + length(t.rolled), length(span));
		assert_int_equal(t.rolled.from_us % QUARTER + t.rolled.to_us % QUARTER, 0);
	}
}

static void behind_the_log_ends_move_down_to_whole_buckets(void **state)
{
	(void)state;
	struct statistics_span span = { NOW + 5, NOW + 2 * HOUR + 5 };
	struct statistics_span counted = statistics_range_countable(span, HOUR, NOW);
	expect(counted, span.from_us, span.to_us);
	counted = statistics_range_countable(span, HOUR, NOW + HOUR);
	expect(counted, NOW, span.to_us);
	counted = statistics_range_countable(span, HOUR, NOW + DAY);
	expect(counted, NOW, NOW + 2 * HOUR);
	counted = statistics_range_countable((struct statistics_span){ NOW + 5, NOW + 9 }, HOUR, NOW + DAY);
	assert_true(statistics_range_is_empty(&counted));
	counted = statistics_range_countable(span, HOUR, 0);
	expect(counted, span.from_us, span.to_us);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_days_need_neither_hours_nor_the_log),
		cmocka_unit_test(a_range_is_its_edges_hours_and_days),
		cmocka_unit_test(what_has_no_whole_bucket_comes_from_the_log_alone),
		cmocka_unit_test(no_moment_is_lost_or_counted_twice),
		cmocka_unit_test(behind_the_log_ends_move_down_to_whole_buckets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
