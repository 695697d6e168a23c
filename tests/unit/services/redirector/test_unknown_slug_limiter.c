#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "services/redirector/lookup/unknown_slug_limiter.h"
#include "tests/support/clock_fake.h"
#include "tests/support/test.h"

#define NOW_US (1000000 * CLOCK_US_PER_S)
#define MS CLOCK_US_PER_MS
#define WAITING_MAX 20

/* A limiter without budget. Its filter is complete and contains "there"; its feed is fresh. */
struct fixture {
	struct clock_fake clock;
	struct watermark_tracker watermark;
	struct slug_bloom_filter *filter;
	struct metrics *metrics;
	struct unknown_slug_limiter *limiter;
	/* Outlives the test: closing the limiter completes the rest. */
	enum err result[WAITING_MAX + 1];
};

static void set_watermark(struct fixture *f, int64_t as_of_us)
{
	struct watermark m = { .as_of_us = as_of_us, .partitions = 1 };
	watermark_tracker_set_position(&f->watermark, 0, 0);
	watermark_tracker_update(&f->watermark, &m);
}

static int64_t now(struct fixture *f)
{
	return clock_now_us(&f->clock.clock);
}

static void complete(struct fixture *f)
{
	slug_bloom_filter_set_complete(f->filter, atomic_load(&f->watermark.continuous_since_us));
}

static void build(struct fixture *f, int64_t queries_per_second)
{
	f->limiter = unknown_slug_limiter_new(&(struct unknown_slug_limiter_config){
		.filter = f->filter,
		.watermark = &f->watermark,
		.queries_per_second = queries_per_second,
		.waiting_max = WAITING_MAX,
		.clock = &f->clock.clock,
		.metrics = f->metrics,
	});
}

static int set_up(void **state)
{
	static struct fixture f;
	clock_fake_init(&f.clock, NOW_US);
	watermark_tracker_init(&f.watermark, &f.clock.clock, WATERMARK_TRACKER_FRESH_US);
	watermark_tracker_set_partitions(&f.watermark, 1);
	set_watermark(&f, NOW_US);
	f.filter = slug_bloom_filter_new(1000);
	slug_bloom_filter_add(f.filter, "there", 5);
	complete(&f);
	f.metrics = metrics_new();
	build(&f, 0);
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	unknown_slug_limiter_close(f->limiter);
	unknown_slug_limiter_free(f->limiter);
	slug_bloom_filter_free(f->filter);
	metrics_free(f->metrics);
	return 0;
}

#define NOT_DONE ERR_CONFLICT

static void on_done(void *ctx, enum err decision)
{
	enum err *result = ctx;
	assert_int_equal(*result, NOT_DONE);
	*result = decision;
}

static bool hold(struct fixture *f, const char *slug, enum err *result)
{
	*result = NOT_DONE;
	return unknown_slug_limiter_hold(f->limiter, slug, on_done, result);
}

TEST_CASE(a_slug_is_unknown_once_the_watermark_has_passed_its_arrival)
{
	struct fixture *f = *state;
	assert_true(hold(f, "none", &f->result[0]));
	unknown_slug_limiter_advance(f->limiter);
	assert_int_equal(f->result[0], NOT_DONE);
	clock_fake_advance(&f->clock, 300 * MS);
	set_watermark(f, NOW_US + UNKNOWN_SLUG_LIMITER_CLOCK_SKEW_US - 1);
	unknown_slug_limiter_advance(f->limiter);
	assert_int_equal(f->result[0], NOT_DONE);
	set_watermark(f, NOW_US + UNKNOWN_SLUG_LIMITER_CLOCK_SKEW_US);
	unknown_slug_limiter_advance(f->limiter);
	assert_int_equal(f->result[0], ERR_NOT_FOUND);
}

TEST_CASE(a_slug_whose_event_arrives_meanwhile_is_undecided)
{
	struct fixture *f = *state;
	assert_true(hold(f, "new", &f->result[0]));
	slug_bloom_filter_add(f->filter, "new", 3);
	clock_fake_advance(&f->clock, 300 * MS);
	set_watermark(f, now(f));
	unknown_slug_limiter_advance(f->limiter);
	assert_int_equal(f->result[0], ERR_UNAVAILABLE);
}

TEST_CASE(does_not_hold_a_slug_that_may_be_issued)
{
	struct fixture *f = *state;
	assert_false(hold(f, "there", &f->result[0]));
}

TEST_CASE(holds_nothing_while_the_filter_is_not_reliable)
{
	struct fixture *f = *state;
	clock_fake_advance(&f->clock, WATERMARK_TRACKER_FRESH_US + 1);
	assert_false(hold(f, "none", &f->result[0]));
	set_watermark(f, now(f));
	assert_true(hold(f, "none", &f->result[0]));
	watermark_tracker_reset_partition(&f->watermark, 0);
	clock_fake_advance(&f->clock, 1);
	set_watermark(f, now(f));
	assert_false(hold(f, "none", &f->result[1]));
	complete(f);
	assert_true(hold(f, "none", &f->result[1]));
}

TEST_CASE(holds_nothing_with_an_overfull_filter)
{
	struct fixture *f = *state;
	for (char slug[3] = "aa"; slug[0] <= 'z'; slug[0]++) {
		for (slug[1] = '!'; slug[1] <= '~'; slug[1]++)
			slug_bloom_filter_add(f->filter, slug, 2);
	}
	assert_true(slug_bloom_filter_is_overfull(f->filter));
	assert_false(hold(f, "none at all", &f->result[0]));
}

TEST_CASE(a_lookup_that_times_out_is_undecided)
{
	struct fixture *f = *state;
	assert_true(hold(f, "none", &f->result[0]));
	clock_fake_advance(&f->clock, UNKNOWN_SLUG_LIMITER_TIMEOUT_US - 1);
	unknown_slug_limiter_advance(f->limiter);
	assert_int_equal(f->result[0], NOT_DONE);
	clock_fake_advance(&f->clock, 1);
	unknown_slug_limiter_advance(f->limiter);
	assert_int_equal(f->result[0], ERR_UNAVAILABLE);
}

TEST_CASE(a_gap_in_the_feed_during_the_wait_leaves_the_lookup_undecided)
{
	struct fixture *f = *state;
	assert_true(hold(f, "none", &f->result[0]));
	watermark_tracker_reset_partition(&f->watermark, 0);
	clock_fake_advance(&f->clock, 300 * MS);
	set_watermark(f, now(f));
	unknown_slug_limiter_advance(f->limiter);
	assert_int_equal(f->result[0], ERR_UNAVAILABLE);
}

TEST_CASE(holds_at_most_its_limit_and_completes_in_small_batches)
{
	struct fixture *f = *state;
	for (int i = 0; i < WAITING_MAX; i++)
		assert_true(hold(f, "none", &f->result[i]));
	assert_false(hold(f, "none", &f->result[WAITING_MAX]));
	clock_fake_advance(&f->clock, 300 * MS);
	set_watermark(f, now(f));
	assert_true(unknown_slug_limiter_advance(f->limiter));
	assert_int_equal(f->result[UNKNOWN_SLUG_LIMITER_BATCH_MAX - 1], ERR_NOT_FOUND);
	assert_int_equal(f->result[UNKNOWN_SLUG_LIMITER_BATCH_MAX], NOT_DONE);
	assert_false(unknown_slug_limiter_advance(f->limiter));
	for (int i = 0; i < WAITING_MAX; i++)
		assert_int_equal(f->result[i], ERR_NOT_FOUND);
	assert_true(hold(f, "none", &f->result[WAITING_MAX]));
}

TEST_CASE(lets_the_budget_through_to_postgresql)
{
	struct fixture *f = *state;
	unknown_slug_limiter_close(f->limiter);
	unknown_slug_limiter_free(f->limiter);
	metrics_free(f->metrics);
	f->metrics = metrics_new();
	build(f, 2);
	assert_true(hold(f, "none", &f->result[0]));
	clock_fake_advance(&f->clock, 500 * MS);
	set_watermark(f, now(f));
	assert_false(hold(f, "none", &f->result[1]));
	assert_true(hold(f, "none", &f->result[2]));
	/* An hour accumulates no more budget than a second. */
	clock_fake_advance(&f->clock, CLOCK_US_PER_HOUR);
	set_watermark(f, now(f));
	assert_false(hold(f, "none", &f->result[3]));
	assert_false(hold(f, "none", &f->result[4]));
	assert_true(hold(f, "none", &f->result[5]));
}

TEST_CASE(closing_completes_every_held_lookup)
{
	struct fixture *f = *state;
	assert_true(hold(f, "none", &f->result[0]));
	unknown_slug_limiter_close(f->limiter);
	assert_int_equal(f->result[0], ERR_UNAVAILABLE);
	assert_false(hold(f, "none", &f->result[1]));
}

TEST_MAIN(.set_up = set_up, .tear_down = tear_down)
