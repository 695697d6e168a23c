#include <stdbool.h>
#include <stdint.h>

#include "services/redirector/feed/watermark_tracker.h"
#include "tests/support/test.h"

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

static bool update(struct fixture *f, int32_t partition, int64_t as_of_us, int32_t partitions)
{
	struct watermark m = { .as_of_us = as_of_us, .generation = 0, .partitions = partitions };
	return watermark_tracker_update(&f->tracker, partition, &m);
}

static bool is_fresh(struct fixture *f)
{
	return watermark_tracker_is_fresh(&f->tracker, clock_steady_us(&f->clock.clock));
}

static bool is_continuous_now(struct fixture *f)
{
	return watermark_tracker_is_continuous_since(&f->tracker, clock_steady_us(&f->clock.clock));
}

static void the_watermark_is_that_of_the_slowest_partition(void **state)
{
	struct fixture *f = *state;
	watermark_tracker_set_partitions(&f->tracker, 2);
	assert_true(update(f, 0, NOW_US, 2));
	assert_false(is_fresh(f));
	assert_false(is_continuous_now(f));
	assert_true(update(f, 1, NOW_US - 100 * MS, 2));
	assert_int_equal(watermark_tracker_watermark_us(&f->tracker), NOW_US - 100 * MS);
	assert_true(is_fresh(f));
	assert_true(is_continuous_now(f));
	assert_int_equal(watermark_tracker_lag_us(&f->tracker), 100 * MS);
}

static void is_fresh_for_700_ms_after_its_watermark(void **state)
{
	struct fixture *f = *state;
	watermark_tracker_set_partitions(&f->tracker, 1);
	update(f, 0, NOW_US - 300 * MS, 1);
	clock_fake_advance(&f->clock, 400 * MS);
	assert_true(is_fresh(f));
	clock_fake_advance(&f->clock, 1);
	assert_false(is_fresh(f));
	assert_true(is_continuous_now(f));
	update(f, 0, NOW_US + 400 * MS, 1);
	assert_true(is_fresh(f));
}

static void an_older_watermark_changes_nothing(void **state)
{
	struct fixture *f = *state;
	watermark_tracker_set_partitions(&f->tracker, 1);
	update(f, 0, NOW_US, 1);
	update(f, 0, NOW_US - 60 * CLOCK_US_PER_S, 1);
	assert_int_equal(watermark_tracker_watermark_us(&f->tracker), NOW_US);
	assert_true(is_fresh(f));
}

static void a_database_clock_that_is_ahead_adds_no_freshness(void **state)
{
	struct fixture *f = *state;
	watermark_tracker_set_partitions(&f->tracker, 1);
	update(f, 0, NOW_US + 60 * CLOCK_US_PER_S, 1);
	clock_fake_advance(&f->clock, 700 * MS + 1);
	assert_false(is_fresh(f));
}

static void is_continuous_only_since_every_partition_had_a_watermark(void **state)
{
	struct fixture *f = *state;
	int64_t early_us = clock_steady_us(&f->clock.clock);
	clock_fake_advance(&f->clock, 1);
	watermark_tracker_set_partitions(&f->tracker, 1);
	update(f, 0, NOW_US, 1);
	assert_false(watermark_tracker_is_continuous_since(&f->tracker, early_us));
	assert_true(is_continuous_now(f));
}

static void is_no_longer_continuous_after_a_lost_position(void **state)
{
	struct fixture *f = *state;
	watermark_tracker_set_partitions(&f->tracker, 2);
	update(f, 0, NOW_US, 2);
	update(f, 1, NOW_US, 2);
	int64_t before_us = clock_steady_us(&f->clock.clock);
	clock_fake_advance(&f->clock, 10 * MS);
	watermark_tracker_reset_partition(&f->tracker, 1);
	assert_false(is_fresh(f));
	assert_false(is_continuous_now(f));
	assert_int_equal(watermark_tracker_watermark_us(&f->tracker), 0);
	update(f, 0, NOW_US + 10 * MS, 2);
	assert_false(is_fresh(f));
	update(f, 1, NOW_US + 10 * MS, 2);
	assert_true(is_fresh(f));
	assert_false(watermark_tracker_is_continuous_since(&f->tracker, before_us));
	assert_true(is_continuous_now(f));
}

static void ignores_watermarks_that_name_more_partitions_than_it_reads(void **state)
{
	struct fixture *f = *state;
	watermark_tracker_set_partitions(&f->tracker, 1);
	assert_false(update(f, 0, NOW_US, 2));
	assert_false(is_fresh(f));
	watermark_tracker_set_partitions(&f->tracker, 2);
	assert_true(update(f, 0, NOW_US, 2));
	assert_false(is_fresh(f));
	assert_true(update(f, 1, NOW_US, 2));
	assert_true(is_fresh(f));
}

static void keeps_the_largest_generation(void **state)
{
	struct fixture *f = *state;
	watermark_tracker_set_partitions(&f->tracker, 1);
	struct watermark m = { .as_of_us = NOW_US, .generation = 7, .partitions = 1 };
	watermark_tracker_update(&f->tracker, 0, &m);
	m.generation = 6;
	watermark_tracker_update(&f->tracker, 0, &m);
	assert_int_equal(atomic_load(&f->tracker.generation), 7);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_watermark_is_that_of_the_slowest_partition),
		TEST(is_fresh_for_700_ms_after_its_watermark),
		TEST(an_older_watermark_changes_nothing),
		TEST(a_database_clock_that_is_ahead_adds_no_freshness),
		TEST(is_continuous_only_since_every_partition_had_a_watermark),
		TEST(is_no_longer_continuous_after_a_lost_position),
		TEST(ignores_watermarks_that_name_more_partitions_than_it_reads),
		TEST(keeps_the_largest_generation),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
