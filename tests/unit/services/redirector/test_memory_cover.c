/* What the feed of changes means for entries in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "services/redirector/memory_cache.h"

#define MIB ((size_t)1024 * 1024)
#define NOW_US (1000000 * CLOCK_US_PER_S)
#define MS CLOCK_US_PER_MS
#define TTL_US (1000 * MS)
#define SLUG "abc"

/* A memory whose feed has just begun to cover. */
struct world {
	struct clock_fake clock;
	struct feed_progress progress;
	struct change_clock *changes;
	struct memory_cache *memory;
};

static int64_t steady(struct world *w)
{
	return clock_steady_us(&w->clock.clock);
}

static void mark(struct world *w)
{
	struct feed_mark m = { .as_of_us = clock_now_us(&w->clock.clock), .partitions = 1 };
	feed_progress_mark(&w->progress, 0, &m);
}

static int set_up(void **state)
{
	static struct world w;
	clock_fake_init(&w.clock, NOW_US);
	clock_fake_advance(&w.clock, CLOCK_US_PER_HOUR);
	feed_progress_init(&w.progress, &w.clock.clock);
	feed_progress_found(&w.progress, 1);
	w.changes = change_clock_new();
	w.memory = memory_cache_new(MIB, TTL_US);
	memory_cache_follow(w.memory, &w.progress, w.changes);
	mark(&w);
	*state = &w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;
	memory_cache_free(w->memory);
	change_clock_free(w->changes);
	feed_progress_clear(&w->progress);
	return 0;
}

/* Time passes and the feed keeps up. */
static void go_on(struct world *w, int64_t by_us)
{
	clock_fake_advance(&w->clock, by_us);
	mark(w);
}

static struct link_entry version(int64_t number)
{
	struct link_entry entry = {
		.id = 1, .version = number, .state = LINK_STATE_ACTIVE, .redirect_status = 302, .slug = SLUG
	};
	snprintf(entry.original_url, sizeof(entry.original_url), "https://example.com/%d", (int)number);
	return entry;
}

static void read_from_a_store(struct world *w, int64_t number, int64_t read_at_us)
{
	struct link_entry entry = version(number);
	memory_cache_merge(w->memory, &entry, read_at_us);
}

static void event(struct world *w, int64_t number)
{
	struct link_entry entry = version(number);
	(void)change_clock_change(w->changes, SLUG, strlen(SLUG), steady(w));
	memory_cache_apply(w->memory, &entry);
}

/* The version that is answered; 0: none. */
static int64_t answered(struct world *w)
{
	struct link_entry out;
	return memory_cache_get(w->memory, SLUG, strlen(SLUG), steady(w), &out) == OK ? out.version : 0;
}

static void a_covered_entry_is_answered_beyond_its_time(void **state)
{
	struct world *w = *state;
	read_from_a_store(w, 1, steady(w));
	go_on(w, CLOCK_US_PER_HOUR);
	assert_int_equal(answered(w), 1);
}

static void without_a_fresh_feed_it_lives_by_time_alone(void **state)
{
	struct world *w = *state;
	read_from_a_store(w, 1, steady(w));
	clock_fake_advance(&w->clock, 999 * MS);
	assert_int_equal(answered(w), 1);
	clock_fake_advance(&w->clock, MS);
	assert_int_equal(answered(w), 0);
	memory_cache_set_ttl(w->memory, 5 * TTL_US);
	assert_int_equal(answered(w), 1);
	memory_cache_set_ttl(w->memory, TTL_US);
	mark(w);
	assert_int_equal(answered(w), 1);
}

static void an_event_replaces_an_older_version(void **state)
{
	struct world *w = *state;
	read_from_a_store(w, 1, steady(w));
	event(w, 2);
	assert_int_equal(answered(w), 2);
	event(w, 1);
	assert_int_equal(answered(w), 2);
	go_on(w, CLOCK_US_PER_HOUR);
	assert_int_equal(answered(w), 2);
}

static void an_event_that_comes_late_gives_no_entry_more_time(void **state)
{
	struct world *w = *state;
	read_from_a_store(w, 1, steady(w));
	clock_fake_advance(&w->clock, 10 * TTL_US);
	event(w, 2);
	assert_int_equal(answered(w), 0);
}

static void an_event_adds_nothing_that_nobody_asked_for(void **state)
{
	struct world *w = *state;
	event(w, 2);
	assert_int_equal(answered(w), 0);
	assert_int_equal(memory_cache_usage(w->memory).entries, 0);
}

static void what_was_read_around_a_change_is_not_covered(void **state)
{
	struct world *w = *state;
	int64_t read_at_us = steady(w);
	go_on(w, MS);
	event(w, 2);
	read_from_a_store(w, 1, read_at_us);
	assert_int_equal(answered(w), 1);
	go_on(w, TTL_US);
	assert_int_equal(answered(w), 0);
}

static void what_a_store_says_soon_after_a_change_is_not_covered(void **state)
{
	struct world *w = *state;
	event(w, 2);
	go_on(w, CHANGE_CLOCK_SETTLE_US);
	read_from_a_store(w, 1, steady(w));
	go_on(w, TTL_US);
	assert_int_equal(answered(w), 0);
	read_from_a_store(w, 2, steady(w));
	go_on(w, CLOCK_US_PER_HOUR);
	assert_int_equal(answered(w), 2);
}

static void an_event_of_the_same_version_vouches_for_an_entry(void **state)
{
	struct world *w = *state;
	event(w, 2);
	go_on(w, MS);
	read_from_a_store(w, 2, steady(w));
	event(w, 2);
	go_on(w, CLOCK_US_PER_HOUR);
	assert_int_equal(answered(w), 2);
}

static void a_gap_in_the_feed_ends_the_cover_of_all_that_was_read_before(void **state)
{
	struct world *w = *state;
	read_from_a_store(w, 1, steady(w));
	go_on(w, MS);
	feed_progress_lost(&w->progress, 0);
	go_on(w, TTL_US);
	assert_int_equal(answered(w), 0);
	/* Nor does it come back with a reading that is not covered itself. */
	event(w, 1);
	read_from_a_store(w, 1, steady(w));
	assert_int_equal(answered(w), 1);
	go_on(w, TTL_US);
	assert_int_equal(answered(w), 0);
}

static void what_was_read_before_the_feed_covered_lives_by_time(void **state)
{
	struct world *w = *state;
	read_from_a_store(w, 1, steady(w) - 1);
	assert_int_equal(answered(w), 1);
	go_on(w, TTL_US);
	assert_int_equal(answered(w), 0);
}

static void a_dropped_entry_is_gone(void **state)
{
	struct world *w = *state;
	read_from_a_store(w, 1, steady(w));
	memory_cache_drop(w->memory, SLUG, strlen(SLUG));
	memory_cache_drop(w->memory, SLUG, strlen(SLUG));
	assert_int_equal(answered(w), 0);
	assert_int_equal(memory_cache_usage(w->memory).entries, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_covered_entry_is_answered_beyond_its_time),
		TEST(without_a_fresh_feed_it_lives_by_time_alone),
		TEST(an_event_replaces_an_older_version),
		TEST(an_event_that_comes_late_gives_no_entry_more_time),
		TEST(an_event_adds_nothing_that_nobody_asked_for),
		TEST(what_was_read_around_a_change_is_not_covered),
		TEST(what_a_store_says_soon_after_a_change_is_not_covered),
		TEST(an_event_of_the_same_version_vouches_for_an_entry),
		TEST(a_gap_in_the_feed_ends_the_cover_of_all_that_was_read_before),
		TEST(what_was_read_before_the_feed_covered_lives_by_time),
		TEST(a_dropped_entry_is_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
