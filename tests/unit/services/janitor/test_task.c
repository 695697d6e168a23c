#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include "services/janitor/task.h"

static const struct task slow = { .period_s = 900, .at_most_s = 840 };
static const struct task quick = { .period_s = 3600, .at_most_s = 60 };
static const struct task hasty = { .period_s = 1, .at_most_s = 840 };

static void comes_again_after_its_period(void **state)
{
	(void)state;
	assert_int_equal(task_delay_s(&slow, TASK_DONE), 900);
	assert_int_equal(task_delay_s(&hasty, TASK_DONE), 1);
}

static void takes_over_as_soon_as_the_lock_of_a_dead_janitor_can_have_ended(void **state)
{
	(void)state;
	assert_int_equal(task_delay_s(&slow, TASK_SKIPPED), 840);
	assert_int_equal(task_delay_s(&quick, TASK_SKIPPED), 60);
	assert_int_equal(task_delay_s(&hasty, TASK_SKIPPED), 1);
}

static void tries_again_soon_after_a_failure_but_not_before_its_period(void **state)
{
	(void)state;
	assert_int_equal(task_delay_s(&slow, TASK_FAILED), 5);
	assert_int_equal(task_delay_s(&slow, TASK_AWAY), 1);
	assert_int_equal(task_delay_s(&hasty, TASK_FAILED), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_again_after_its_period),
		cmocka_unit_test(takes_over_as_soon_as_the_lock_of_a_dead_janitor_can_have_ended),
		cmocka_unit_test(tries_again_soon_after_a_failure_but_not_before_its_period),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
