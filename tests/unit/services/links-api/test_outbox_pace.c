#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include "lib/base/clock.h"
#include "services/links-api/outbox/outbox_pace.h"

#define MOST 256

static void allows_so_many_a_second_however_often_it_is_asked(void **state)
{
	(void)state;
	struct outbox_pace pace;
	int64_t taken = 0, now_us = 7;
	outbox_pace_init(&pace, 2000, MOST, now_us);
	for (int ms = 0; ms < 10000; ms++) {
		now_us += CLOCK_US_PER_MS;
		int64_t rows = outbox_pace_allowance(&pace, now_us);
		assert_true(rows == 0 || rows >= 100);
		outbox_pace_spend(&pace, rows);
		taken += rows;
	}
	assert_in_range(taken, 19900, 20000);
}

static void saves_up_no_more_than_is_read_together(void **state)
{
	(void)state;
	struct outbox_pace pace;
	outbox_pace_init(&pace, 1000000, MOST, 0);
	assert_int_equal(outbox_pace_allowance(&pace, 0), 0);
	assert_int_equal(outbox_pace_allowance(&pace, 60 * CLOCK_US_PER_S), MOST);
	outbox_pace_spend(&pace, MOST);
	assert_int_equal(outbox_pace_allowance(&pace, 60 * CLOCK_US_PER_S), 0);
}

static void says_when_the_next_portion_comes(void **state)
{
	(void)state;
	struct outbox_pace pace;
	outbox_pace_init(&pace, 2000, MOST, 0);
	int64_t wait_ms = outbox_pace_wait_ms(&pace, 0);
	assert_in_range(wait_ms, 50, 51);
	assert_true(outbox_pace_allowance(&pace, wait_ms * CLOCK_US_PER_MS) >= 100);
	assert_int_equal(outbox_pace_wait_ms(&pace, wait_ms * CLOCK_US_PER_MS), 1);
	/* One a second is one each second, not none. */
	outbox_pace_init(&pace, 1, MOST, 0);
	assert_int_equal(outbox_pace_allowance(&pace, CLOCK_US_PER_S), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allows_so_many_a_second_however_often_it_is_asked),
		cmocka_unit_test(saves_up_no_more_than_is_read_together),
		cmocka_unit_test(says_when_the_next_portion_comes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
