#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "services/redirector/cache/recent_changes.h"
#include "tests/support/test.h"

#define S CLOCK_US_PER_S

TEST_CASE(has_no_change_before_the_first_event)
{
	struct recent_changes *changes = recent_changes_new();
	assert_true(recent_changes_none_since(changes, "abc", 3, 0));
	assert_true(recent_changes_start_fill(changes, "abc", 3, 0, 0));
	recent_changes_free(changes);
}

TEST_CASE(knows_whether_a_slug_changed_since_a_time)
{
	struct recent_changes *changes = recent_changes_new();
	recent_changes_add(changes, "abc", 3, 10 * S);
	assert_false(recent_changes_none_since(changes, "abc", 3, 10 * S));
	assert_true(recent_changes_none_since(changes, "abc", 3, 10 * S + 1));
	recent_changes_free(changes);
}

TEST_CASE(refuses_a_fill_that_was_read_before_the_last_change)
{
	struct recent_changes *changes = recent_changes_new();
	recent_changes_add(changes, "abc", 3, 10 * S);
	assert_false(recent_changes_start_fill(changes, "abc", 3, 10 * S, 11 * S));
	assert_true(recent_changes_start_fill(changes, "abc", 3, 10 * S + 1, 11 * S));
	recent_changes_free(changes);
}

TEST_CASE(reports_a_change_of_a_recently_filled_slug)
{
	struct recent_changes *changes = recent_changes_new();
	assert_false(recent_changes_add(changes, "abc", 3, 10 * S));
	(void)recent_changes_start_fill(changes, "abc", 3, 11 * S, 11 * S);
	assert_true(recent_changes_add(changes, "abc", 3, 11 * S));
	assert_true(recent_changes_add(changes, "abc", 3, 11 * S + RECENT_CHANGES_LATE_FILL_US));
	assert_false(
		recent_changes_add(changes, "abc", 3, 11 * S + RECENT_CHANGES_LATE_FILL_US + 1));
	recent_changes_free(changes);
}

TEST_CASE(a_refused_fill_is_recorded_as_a_fill)
{
	struct recent_changes *changes = recent_changes_new();
	recent_changes_add(changes, "abc", 3, 10 * S);
	assert_false(recent_changes_start_fill(changes, "abc", 3, 9 * S, 10 * S));
	assert_true(recent_changes_add(changes, "abc", 3, 10 * S));
	recent_changes_free(changes);
}

TEST_CASE(a_change_of_one_slug_affects_few_others)
{
	struct recent_changes *changes = recent_changes_new();
	recent_changes_add(changes, "abc", 3, 10 * S);
	int affected = 0;
	for (int i = 0; i < 1000; i++) {
		char slug[16];
		int len = snprintf(slug, sizeof(slug), "s%d", i);
		affected += !recent_changes_none_since(changes, slug, (size_t)len, 10 * S);
	}
	assert_in_range(affected, 0, 10);
	recent_changes_free(changes);
}

TEST_MAIN()
