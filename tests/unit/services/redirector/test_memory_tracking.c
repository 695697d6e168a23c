/* How the feed of link events affects entries in memory. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "services/redirector/cache/memory_cache.h"
#include "tests/support/clock_fake.h"
#include "tests/support/test.h"

#define MIB ((size_t)1024 * 1024)
#define NOW_US (1000000 * CLOCK_US_PER_S)
#define MS CLOCK_US_PER_MS
#define TTL_US (1000 * MS)
#define SLUG "abc"

/* A memory cache whose feed has just become continuous. */
struct fixture {
	struct clock_fake clock;
	struct watermark_tracker watermark;
	struct recent_changes *changes;
	struct memory_cache *memory;
};

static int64_t steady(struct fixture *f)
{
	return clock_steady_us(&f->clock.clock);
}

static void update_watermark(struct fixture *f)
{
	struct watermark m = { .as_of_us = clock_now_us(&f->clock.clock), .partitions = 1 };
	watermark_tracker_set_position(&f->watermark, 0, 0);
	watermark_tracker_update(&f->watermark, &m);
}

static int set_up(void **state)
{
	static struct fixture f;
	clock_fake_init(&f.clock, NOW_US);
	clock_fake_advance(&f.clock, CLOCK_US_PER_HOUR);
	watermark_tracker_init(&f.watermark, &f.clock.clock, WATERMARK_TRACKER_FRESH_US);
	watermark_tracker_set_partitions(&f.watermark, 1);
	f.changes = recent_changes_new();
	f.memory = memory_cache_new(MIB, TTL_US);
	memory_cache_use_feed(f.memory, &f.watermark, f.changes);
	update_watermark(&f);
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	memory_cache_free(f->memory);
	recent_changes_free(f->changes);
	return 0;
}

/* Advances the clock while the feed stays fresh. */
static void advance(struct fixture *f, int64_t by_us)
{
	clock_fake_advance(&f->clock, by_us);
	update_watermark(f);
}

static struct link_entry version(int64_t number)
{
	struct link_entry entry = { .id = 1,
		                    .version = number,
		                    .state = LINK_STATE_ACTIVE,
		                    .redirect_status = 302,
		                    .slug = SLUG };
	snprintf(entry.original_url, sizeof(entry.original_url), "https://example.com/%d",
	         (int)number);
	return entry;
}

static void read_from_a_store(struct fixture *f, int64_t number, int64_t read_at_us)
{
	struct link_entry entry = version(number);
	memory_cache_merge(f->memory, &entry, read_at_us);
}

static void event(struct fixture *f, int64_t number)
{
	struct link_entry entry = version(number);
	(void)recent_changes_add(f->changes, SLUG, strlen(SLUG), steady(f));
	memory_cache_apply_change(f->memory, &entry);
}

/* Of a link with extras. */
static void event_without_extras(struct fixture *f, int64_t number)
{
	struct link_entry entry = version(number);
	entry.lacks_extras = true;
	(void)recent_changes_add(f->changes, SLUG, strlen(SLUG), steady(f));
	memory_cache_apply_change(f->memory, &entry);
}

/* The version that memory returns; 0: none. */
static int64_t cached_version(struct fixture *f)
{
	struct link_entry out;
	return memory_cache_get(f->memory, SLUG, strlen(SLUG), steady(f), &out) == OK ? out.version
	                                                                              : 0;
}

TEST_CASE(a_tracked_entry_outlives_its_ttl)
{
	struct fixture *f = *state;
	read_from_a_store(f, 1, steady(f));
	advance(f, CLOCK_US_PER_HOUR);
	assert_int_equal(cached_version(f), 1);
}

/* A failover: the feed stays fresh and has no event for the lost change. */
TEST_CASE(an_entry_of_an_earlier_epoch_does_not_answer)
{
	struct fixture *f = *state;
	struct link_entry out;
	read_from_a_store(f, 6, steady(f));
	memory_cache_require_above(f->memory, 1000);
	assert_int_equal(cached_version(f), 0);
	assert_int_equal(memory_cache_get_stale(f->memory, SLUG, strlen(SLUG), &out),
	                 ERR_NOT_FOUND);
	event(f, 7);
	assert_int_equal(cached_version(f), 0);
	read_from_a_store(f, 1005, steady(f));
	assert_int_equal(cached_version(f), 1005);
	event(f, 8);
	memory_cache_require_above(f->memory, 0);
	assert_int_equal(cached_version(f), 1005);
}

TEST_CASE(without_a_fresh_feed_the_ttl_applies)
{
	struct fixture *f = *state;
	read_from_a_store(f, 1, steady(f));
	clock_fake_advance(&f->clock, 999 * MS);
	assert_int_equal(cached_version(f), 1);
	clock_fake_advance(&f->clock, MS);
	assert_int_equal(cached_version(f), 0);
	memory_cache_set_ttl(f->memory, 5 * TTL_US);
	assert_int_equal(cached_version(f), 1);
	memory_cache_set_ttl(f->memory, TTL_US);
	update_watermark(f);
	assert_int_equal(cached_version(f), 1);
}

TEST_CASE(an_event_replaces_an_older_version)
{
	struct fixture *f = *state;
	read_from_a_store(f, 1, steady(f));
	event(f, 2);
	assert_int_equal(cached_version(f), 2);
	event(f, 1);
	assert_int_equal(cached_version(f), 2);
	advance(f, CLOCK_US_PER_HOUR);
	assert_int_equal(cached_version(f), 2);
}

/* Redis and PostgreSQL bring the rest; an event of a later version would have replaced it. */
TEST_CASE(what_an_event_names_without_its_extras_is_tracked_once_a_store_returns_it)
{
	struct fixture *f = *state;
	read_from_a_store(f, 1, steady(f));
	event_without_extras(f, 2);
	assert_int_equal(cached_version(f), 0);
	advance(f, MS);
	read_from_a_store(f, 2, steady(f));
	assert_int_equal(cached_version(f), 2);
	advance(f, CLOCK_US_PER_HOUR);
	assert_int_equal(cached_version(f), 2);
}

TEST_CASE(a_late_event_does_not_extend_the_life_of_an_entry)
{
	struct fixture *f = *state;
	read_from_a_store(f, 1, steady(f));
	clock_fake_advance(&f->clock, 10 * TTL_US);
	event(f, 2);
	assert_int_equal(cached_version(f), 0);
}

TEST_CASE(an_event_adds_no_entry)
{
	struct fixture *f = *state;
	event(f, 2);
	assert_int_equal(cached_version(f), 0);
	assert_int_equal(memory_cache_usage(f->memory).entries, 0);
}

TEST_CASE(an_entry_read_before_a_change_is_not_tracked)
{
	struct fixture *f = *state;
	int64_t read_at_us = steady(f);
	advance(f, MS);
	event(f, 2);
	read_from_a_store(f, 1, read_at_us);
	assert_int_equal(cached_version(f), 1);
	advance(f, TTL_US);
	assert_int_equal(cached_version(f), 0);
}

TEST_CASE(an_entry_read_soon_after_a_change_is_not_tracked)
{
	struct fixture *f = *state;
	event(f, 2);
	advance(f, RECENT_CHANGES_LATE_FILL_US);
	read_from_a_store(f, 1, steady(f));
	advance(f, TTL_US);
	assert_int_equal(cached_version(f), 0);
	read_from_a_store(f, 2, steady(f));
	advance(f, CLOCK_US_PER_HOUR);
	assert_int_equal(cached_version(f), 2);
}

TEST_CASE(an_event_of_the_same_version_makes_an_entry_tracked)
{
	struct fixture *f = *state;
	event(f, 2);
	advance(f, MS);
	read_from_a_store(f, 2, steady(f));
	event(f, 2);
	advance(f, CLOCK_US_PER_HOUR);
	assert_int_equal(cached_version(f), 2);
}

TEST_CASE(a_gap_in_the_feed_untracks_all_earlier_entries)
{
	struct fixture *f = *state;
	read_from_a_store(f, 1, steady(f));
	advance(f, MS);
	watermark_tracker_reset_partition(&f->watermark, 0);
	advance(f, TTL_US);
	assert_int_equal(cached_version(f), 0);
	/* A later read that is not tracked itself does not restore it. */
	event(f, 1);
	read_from_a_store(f, 1, steady(f));
	assert_int_equal(cached_version(f), 1);
	advance(f, TTL_US);
	assert_int_equal(cached_version(f), 0);
}

TEST_CASE(an_entry_read_before_the_feed_was_continuous_lives_for_its_ttl)
{
	struct fixture *f = *state;
	read_from_a_store(f, 1, steady(f) - 1);
	assert_int_equal(cached_version(f), 1);
	advance(f, TTL_US);
	assert_int_equal(cached_version(f), 0);
}

TEST_CASE(a_removed_entry_is_gone)
{
	struct fixture *f = *state;
	read_from_a_store(f, 1, steady(f));
	memory_cache_remove(f->memory, SLUG, strlen(SLUG));
	memory_cache_remove(f->memory, SLUG, strlen(SLUG));
	assert_int_equal(cached_version(f), 0);
	assert_int_equal(memory_cache_usage(f->memory).entries, 0);
}

TEST_MAIN(.set_up = set_up, .tear_down = tear_down)
