#include <stdbool.h>
#include <stdint.h>

#include "services/redirector/cache/watermark_tracker.h"
#include "tests/support/clock_fake.h"
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
	watermark_tracker_init(&fixture.tracker, &fixture.clock.clock, WATERMARK_TRACKER_FRESH_US);
	*state = &fixture;
	return 0;
}

/* ends: of each partition; lowest ends are the same. */
static struct watermark watermark_of(int64_t as_of_us, int32_t partitions, const int64_t *ends)
{
	struct watermark m = { .as_of_us = as_of_us, .partitions = partitions };
	for (int32_t p = 0; p < partitions; p++)
		m.partition[p] = (struct watermark_partition){ ends[p], ends[p] };
	return m;
}

static bool update(struct fixture *f, int64_t as_of_us, int32_t partitions, const int64_t *ends)
{
	struct watermark m = watermark_of(as_of_us, partitions, ends);
	return watermark_tracker_update(&f->tracker, &m);
}

static void read_up_to(struct fixture *f, int32_t partition, int64_t offset)
{
	watermark_tracker_set_position(&f->tracker, partition, offset);
}

/* One partition, at whose end (offset 5) the feed begins. */
static void begin(struct fixture *f)
{
	watermark_tracker_set_partitions(&f->tracker, 1);
	read_up_to(f, 0, 5);
}

static bool update_one(struct fixture *f, int64_t as_of_us, int64_t end)
{
	return update(f, as_of_us, 1, (const int64_t[]){ end });
}

static bool is_fresh(struct fixture *f)
{
	return watermark_tracker_is_fresh(&f->tracker, clock_steady_us(&f->clock.clock));
}

static bool is_continuous_now(struct fixture *f)
{
	return watermark_tracker_is_continuous_since(&f->tracker, clock_steady_us(&f->clock.clock));
}

static int64_t as_of(struct fixture *f)
{
	return watermark_tracker_watermark_us(&f->tracker);
}

TEST_CASE(a_watermark_waits_until_every_end_is_reached)
{
	struct fixture *f = *state;
	watermark_tracker_set_partitions(&f->tracker, 2);
	assert_true(update(f, NOW_US - 100 * MS, 2, (const int64_t[]){ 3, 7 }));
	assert_false(is_fresh(f));
	read_up_to(f, 0, 3);
	read_up_to(f, 1, 6);
	assert_false(is_fresh(f));
	assert_false(is_continuous_now(f));
	read_up_to(f, 1, 7);
	assert_int_equal(as_of(f), NOW_US - 100 * MS);
	assert_true(is_fresh(f));
	assert_true(is_continuous_now(f));
	assert_int_equal(watermark_tracker_lag_us(&f->tracker), 100 * MS);
}

TEST_CASE(the_newest_reached_watermark_counts)
{
	struct fixture *f = *state;
	begin(f);
	update_one(f, NOW_US, 6);
	update_one(f, NOW_US + 1, 6);
	update_one(f, NOW_US + 2, 8);
	assert_int_equal(as_of(f), 0);
	read_up_to(f, 0, 7); /* offset 6 was compacted away, or belongs to no watermark yet */
	assert_int_equal(as_of(f), NOW_US + 1);
	read_up_to(f, 0, 9);
	assert_int_equal(as_of(f), NOW_US + 2);
}

TEST_CASE(a_feed_that_lags_by_a_few_watermarks_still_advances)
{
	struct fixture *f = *state;
	begin(f);
	for (int64_t i = 0; i < WATERMARK_TRACKER_WAITING_MAX * 2; i++)
		update_one(f, NOW_US + i, 6 + i);
	read_up_to(f, 0, 6);
	assert_int_equal(as_of(f), NOW_US);
	read_up_to(f, 0, 6 + WATERMARK_TRACKER_WAITING_MAX * 2);
	assert_int_equal(as_of(f), NOW_US + WATERMARK_TRACKER_WAITING_MAX * 2 - 1);
}

TEST_CASE(nothing_is_reached_while_a_position_is_unknown)
{
	struct fixture *f = *state;
	watermark_tracker_set_partitions(&f->tracker, 1);
	update_one(f, NOW_US, 0);
	assert_false(is_fresh(f));
	read_up_to(f, 0, 0); /* an empty partition */
	assert_true(is_fresh(f));
}

TEST_CASE(is_fresh_for_700_ms_after_its_watermark)
{
	struct fixture *f = *state;
	begin(f);
	update_one(f, NOW_US - 300 * MS, 5);
	clock_fake_advance(&f->clock, 400 * MS);
	assert_true(is_fresh(f));
	clock_fake_advance(&f->clock, 1);
	assert_false(is_fresh(f));
	assert_true(is_continuous_now(f));
	update_one(f, NOW_US + 400 * MS, 5);
	assert_true(is_fresh(f));
}

/* As from an earlier relay that was frozen. */
TEST_CASE(an_older_watermark_changes_nothing)
{
	struct fixture *f = *state;
	begin(f);
	update_one(f, NOW_US, 5);
	const struct watermark late =
		watermark_of(NOW_US - 60 * CLOCK_US_PER_S, 1, (const int64_t[]){ 2 });
	assert_false(watermark_tracker_has_lost_end(&f->tracker, &late, 0));
	assert_true(watermark_tracker_update(&f->tracker, &late));
	assert_int_equal(as_of(f), NOW_US);
	assert_true(is_fresh(f));
}

TEST_CASE(a_database_clock_that_is_ahead_adds_no_freshness)
{
	struct fixture *f = *state;
	begin(f);
	update_one(f, NOW_US + 60 * CLOCK_US_PER_S, 5);
	clock_fake_advance(&f->clock, 700 * MS + 1);
	assert_false(is_fresh(f));
}

TEST_CASE(is_continuous_only_since_its_first_watermark)
{
	struct fixture *f = *state;
	int64_t early_us = clock_steady_us(&f->clock.clock);
	clock_fake_advance(&f->clock, 1);
	begin(f);
	update_one(f, NOW_US, 5);
	assert_false(watermark_tracker_is_continuous_since(&f->tracker, early_us));
	assert_true(is_continuous_now(f));
}

TEST_CASE(is_no_longer_continuous_after_a_lost_position)
{
	struct fixture *f = *state;
	begin(f);
	update_one(f, NOW_US, 5);
	update_one(f, NOW_US + 1, 6);
	int64_t before_us = clock_steady_us(&f->clock.clock);
	clock_fake_advance(&f->clock, 10 * MS);
	watermark_tracker_reset_partition(&f->tracker, 0);
	assert_false(is_fresh(f));
	assert_false(is_continuous_now(f));
	assert_int_equal(as_of(f), 0);
	update_one(f, NOW_US + 10 * MS, 6);
	assert_false(is_fresh(f));
	read_up_to(f, 0, 6);
	assert_true(is_fresh(f));
	assert_int_equal(as_of(f), NOW_US + 10 * MS);
	assert_false(watermark_tracker_is_continuous_since(&f->tracker, before_us));
	assert_true(is_continuous_now(f));
}

TEST_CASE(missed_watermarks_end_continuity_but_not_the_positions)
{
	struct fixture *f = *state;
	begin(f);
	update_one(f, NOW_US, 5);
	watermark_tracker_reset(&f->tracker);
	assert_false(is_continuous_now(f));
	update_one(f, NOW_US + 1, 5);
	assert_true(is_fresh(f));
}

/* The new topic may already be longer than the old one was. */
TEST_CASE(detects_a_partition_that_was_created_again)
{
	struct fixture *f = *state;
	begin(f);
	struct watermark m = watermark_of(NOW_US, 1, (const int64_t[]){ 5 });
	assert_false(watermark_tracker_has_lost_end(&f->tracker, &m, 0));
	watermark_tracker_update(&f->tracker, &m);
	m = watermark_of(NOW_US + 1, 1, (const int64_t[]){ 9 });
	m.partition[0].lowest_end = 5;
	assert_false(watermark_tracker_has_lost_end(&f->tracker, &m, 0));
	m.partition[0].lowest_end = 4;
	assert_true(watermark_tracker_has_lost_end(&f->tracker, &m, 0));
	assert_false(watermark_tracker_has_lost_end(&f->tracker, &m, 1));
	watermark_tracker_reset_partition(&f->tracker, 0);
	assert_false(watermark_tracker_has_lost_end(&f->tracker, &m, 0));
	watermark_tracker_update(&f->tracker, &m);
	assert_false(is_continuous_now(f));
}

TEST_CASE(ignores_watermarks_of_another_number_of_partitions)
{
	struct fixture *f = *state;
	static const int64_t ends[] = { 5, 0 };
	begin(f);
	assert_false(update(f, NOW_US, 2, ends));
	assert_false(is_fresh(f));
	watermark_tracker_set_partitions(&f->tracker, 2);
	assert_true(update(f, NOW_US + 1, 1, ends));
	assert_true(update(f, NOW_US + 2, 2, ends));
	assert_false(is_fresh(f));
	read_up_to(f, 1, 0);
	assert_int_equal(as_of(f), NOW_US + 2);
}

TEST_CASE(keeps_the_largest_generation)
{
	struct fixture *f = *state;
	begin(f);
	struct watermark m = watermark_of(NOW_US, 1, (const int64_t[]){ 5 });
	m.generation = 7;
	watermark_tracker_update(&f->tracker, &m);
	m.generation = 6;
	watermark_tracker_update(&f->tracker, &m);
	assert_int_equal(atomic_load(&f->tracker.generation), 7);
}

static bool update_in_epoch(struct fixture *f, int64_t version_base, int64_t as_of_us, int64_t end)
{
	struct watermark m = watermark_of(as_of_us, 1, &end);
	m.version_base = version_base;
	return watermark_tracker_update(&f->tracker, &m);
}

/* A primary fails over to a machine whose clock is an hour behind. */
TEST_CASE(follows_a_new_epoch_whose_clock_is_behind)
{
	struct fixture *f = *state;
	begin(f);
	assert_true(update_in_epoch(f, 0, NOW_US + CLOCK_US_PER_HOUR, 5));
	assert_true(update_in_epoch(f, 0, NOW_US + CLOCK_US_PER_HOUR + MS, 6));
	assert_true(is_continuous_now(f));
	clock_fake_advance(&f->clock, CLOCK_US_PER_S);
	assert_false(is_fresh(f));
	assert_true(update_in_epoch(f, 1000000, NOW_US + CLOCK_US_PER_S, 5));
	assert_true(is_fresh(f));
	assert_true(is_continuous_now(f));
	assert_int_equal(as_of(f), NOW_US + CLOCK_US_PER_S);
	/* Those of the earlier primary are late, or waited. */
	read_up_to(f, 0, 6);
	assert_true(update_in_epoch(f, 0, NOW_US + 2 * CLOCK_US_PER_HOUR, 6));
	assert_int_equal(as_of(f), NOW_US + CLOCK_US_PER_S);
	/* And within an epoch the newest counts, as ever. */
	assert_true(update_in_epoch(f, 1000000, NOW_US + 900 * MS, 6));
	assert_int_equal(as_of(f), NOW_US + CLOCK_US_PER_S);
	assert_true(update_in_epoch(f, 1000000, NOW_US + 1100 * MS, 6));
	assert_int_equal(as_of(f), NOW_US + 1100 * MS);
}

TEST_CASE(finds_a_lost_end_in_the_first_watermark_of_an_epoch)
{
	struct fixture *f = *state;
	begin(f);
	update_in_epoch(f, 0, NOW_US + CLOCK_US_PER_HOUR, 5);
	int64_t end = 2;
	struct watermark m = watermark_of(NOW_US, 1, &end);
	assert_false(watermark_tracker_has_lost_end(&f->tracker, &m, 0));
	m.version_base = 1000000;
	assert_true(watermark_tracker_has_lost_end(&f->tracker, &m, 0));
}

TEST_MAIN(.set_up = set_up)
