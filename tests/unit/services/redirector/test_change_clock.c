#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "services/redirector/change_clock.h"

#define S CLOCK_US_PER_S

static void is_quiet_before_the_first_event(void **state)
{
	(void)state;
	struct change_clock *clock = change_clock_new();
	assert_true(change_clock_is_quiet(clock, "abc", 3, 0));
	assert_true(change_clock_fill(clock, "abc", 3, 0, 0));
	change_clock_free(clock);
}

static void knows_a_change_since_a_reading(void **state)
{
	(void)state;
	struct change_clock *clock = change_clock_new();
	change_clock_change(clock, "abc", 3, 10 * S);
	assert_false(change_clock_is_quiet(clock, "abc", 3, 10 * S));
	assert_true(change_clock_is_quiet(clock, "abc", 3, 10 * S + 1));
	change_clock_free(clock);
}

static void refuses_to_fill_what_has_changed_since_it_was_read(void **state)
{
	(void)state;
	struct change_clock *clock = change_clock_new();
	change_clock_change(clock, "abc", 3, 10 * S);
	assert_false(change_clock_fill(clock, "abc", 3, 10 * S, 11 * S));
	assert_true(change_clock_fill(clock, "abc", 3, 10 * S + 1, 11 * S));
	change_clock_free(clock);
}

static void tells_a_change_of_what_was_filled_lately(void **state)
{
	(void)state;
	struct change_clock *clock = change_clock_new();
	assert_false(change_clock_change(clock, "abc", 3, 10 * S));
	(void)change_clock_fill(clock, "abc", 3, 11 * S, 11 * S);
	assert_true(change_clock_change(clock, "abc", 3, 11 * S));
	assert_true(change_clock_change(clock, "abc", 3, 11 * S + CHANGE_CLOCK_SETTLE_US));
	assert_false(change_clock_change(clock, "abc", 3, 11 * S + CHANGE_CLOCK_SETTLE_US + 1));
	change_clock_free(clock);
}

static void a_refused_fill_is_a_fill_all_the_same(void **state)
{
	(void)state;
	struct change_clock *clock = change_clock_new();
	change_clock_change(clock, "abc", 3, 10 * S);
	assert_false(change_clock_fill(clock, "abc", 3, 9 * S, 10 * S));
	assert_true(change_clock_change(clock, "abc", 3, 10 * S));
	change_clock_free(clock);
}

static void changes_of_one_slug_leave_most_others_quiet(void **state)
{
	(void)state;
	struct change_clock *clock = change_clock_new();
	change_clock_change(clock, "abc", 3, 10 * S);
	int noisy = 0;
	for (int i = 0; i < 1000; i++) {
		char slug[16];
		int len = snprintf(slug, sizeof(slug), "s%d", i);
		noisy += !change_clock_is_quiet(clock, slug, (size_t)len, 10 * S);
	}
	assert_in_range(noisy, 0, 10);
	change_clock_free(clock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_quiet_before_the_first_event),
		cmocka_unit_test(knows_a_change_since_a_reading),
		cmocka_unit_test(refuses_to_fill_what_has_changed_since_it_was_read),
		cmocka_unit_test(tells_a_change_of_what_was_filled_lately),
		cmocka_unit_test(a_refused_fill_is_a_fill_all_the_same),
		cmocka_unit_test(changes_of_one_slug_leave_most_others_quiet),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
