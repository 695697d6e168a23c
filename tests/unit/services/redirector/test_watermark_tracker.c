#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "services/redirector/watermark_tracker.h"

#define NOW_US (1000000 * CLOCK_US_PER_S)
#define MS CLOCK_US_PER_MS

struct fixture {
	struct clock_fake clock;
	struct watermark_tracker tracker;
};

static int set_up(void **state)
{
	static struct fixture fixture;
	clock_fake_init(&fixture.clock, NOW_US);
	watermark_tracker_init(&fixture.tracker, &fixture.clock.clock);
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	watermark_tracker_clear(&f->tracker);
	return 0;
}

static bool mark(struct fixture *f, int32_t partition, int64_t as_of_us, int32_t partitions)
{
	struct feed_mark m = { .as_of_us = as_of_us, .generation = 0, .partitions = partitions };
	return watermark_tracker_update(&f->tracker, partition, &m);
}

static bool is_fresh(struct fixture *f)
{
	return watermark_tracker_is_fresh(&f->tracker, clock_steady_us(&f->clock.clock));
}

static bool covers_now(struct fixture *f)
{
	return watermark_tracker_is_continuous_since(&f->tracker, clock_steady_us(&f->clock.clock));
}

static void is_as_far_as_its_slowest_partition(void **state)
{
	struct fixture *f = *state;
	watermark_tracker_set_partitions(&f->tracker, 2);
	assert_true(mark(f, 0, NOW_US, 2));
	assert_false(is_fresh(f));
	assert_false(covers_now(f));
	assert_true(mark(f, 1, NOW_US - 100 * MS, 2));
	assert_int_equal(watermark_tracker_watermark_us(&f->tracker), NOW_US - 100 * MS);
	assert_true(is_fresh(f));
	assert_true(covers_now(f));
	assert_int_equal(watermark_tracker_lag_us(&f->tracker), 100 * MS);
}

static void is_fresh_for_700_ms_after_its_as_of(void **state)
{
	struct fixture *f = *state;
	watermark_tracker_set_partitions(&f->tracker, 1);
	mark(f, 0, NOW_US - 300 * MS, 1);
	clock_fake_advance(&f->clock, 400 * MS);
	assert_true(is_fresh(f));
	clock_fake_advance(&f->clock, 1);
	assert_false(is_fresh(f));
	assert_true(covers_now(f));
	mark(f, 0, NOW_US + 400 * MS, 1);
	assert_true(is_fresh(f));
}

static void an_old_mark_turns_nothing_back(void **state)
{
	struct fixture *f = *state;
	watermark_tracker_set_partitions(&f->tracker, 1);
	mark(f, 0, NOW_US, 1);
	mark(f, 0, NOW_US - 60 * CLOCK_US_PER_S, 1);
	assert_int_equal(watermark_tracker_watermark_us(&f->tracker), NOW_US);
	assert_true(is_fresh(f));
}

static void a_database_clock_that_is_ahead_buys_no_more_time(void **state)
{
	struct fixture *f = *state;
	watermark_tracker_set_partitions(&f->tracker, 1);
	mark(f, 0, NOW_US + 60 * CLOCK_US_PER_S, 1);
	clock_fake_advance(&f->clock, 700 * MS + 1);
	assert_false(is_fresh(f));
}

static void does_not_cover_what_was_read_before_all_partitions_were_marked(void **state)
{
	struct fixture *f = *state;
	int64_t early_us = clock_steady_us(&f->clock.clock);
	clock_fake_advance(&f->clock, 1);
	watermark_tracker_set_partitions(&f->tracker, 1);
	mark(f, 0, NOW_US, 1);
	assert_false(watermark_tracker_is_continuous_since(&f->tracker, early_us));
	assert_true(covers_now(f));
}

static void forgets_its_cover_with_its_place(void **state)
{
	struct fixture *f = *state;
	watermark_tracker_set_partitions(&f->tracker, 2);
	mark(f, 0, NOW_US, 2);
	mark(f, 1, NOW_US, 2);
	int64_t before_us = clock_steady_us(&f->clock.clock);
	clock_fake_advance(&f->clock, 10 * MS);
	watermark_tracker_reset_partition(&f->tracker, 1);
	assert_false(is_fresh(f));
	assert_false(covers_now(f));
	assert_int_equal(watermark_tracker_watermark_us(&f->tracker), 0);
	mark(f, 0, NOW_US + 10 * MS, 2);
	assert_false(is_fresh(f));
	mark(f, 1, NOW_US + 10 * MS, 2);
	assert_true(is_fresh(f));
	assert_false(watermark_tracker_is_continuous_since(&f->tracker, before_us));
	assert_true(covers_now(f));
}

static void believes_no_mark_for_more_partitions_than_it_reads(void **state)
{
	struct fixture *f = *state;
	watermark_tracker_set_partitions(&f->tracker, 1);
	assert_false(mark(f, 0, NOW_US, 2));
	assert_false(is_fresh(f));
	watermark_tracker_set_partitions(&f->tracker, 2);
	assert_true(mark(f, 0, NOW_US, 2));
	assert_false(is_fresh(f));
	assert_true(mark(f, 1, NOW_US, 2));
	assert_true(is_fresh(f));
}

static void keeps_the_largest_generation(void **state)
{
	struct fixture *f = *state;
	watermark_tracker_set_partitions(&f->tracker, 1);
	struct feed_mark m = { .as_of_us = NOW_US, .generation = 7, .partitions = 1 };
	watermark_tracker_update(&f->tracker, 0, &m);
	m.generation = 6;
	watermark_tracker_update(&f->tracker, 0, &m);
	assert_int_equal(atomic_load(&f->tracker.generation), 7);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(is_as_far_as_its_slowest_partition),
		TEST(is_fresh_for_700_ms_after_its_as_of),
		TEST(an_old_mark_turns_nothing_back),
		TEST(a_database_clock_that_is_ahead_buys_no_more_time),
		TEST(does_not_cover_what_was_read_before_all_partitions_were_marked),
		TEST(forgets_its_cover_with_its_place),
		TEST(believes_no_mark_for_more_partitions_than_it_reads),
		TEST(keeps_the_largest_generation),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
