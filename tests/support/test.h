/* cmocka, with the headers that it needs before it. Every test in C includes this one. */
#ifndef WAYMARK_TESTS_SUPPORT_TEST_H
#define WAYMARK_TESTS_SUPPORT_TEST_H

/* cmocka.h comes last. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <poll.h>

/*
 * How long a test waits for a condition. The bound guards against a hang. It is at least ten times
 * what is typical, so that a busy machine does not reach it.
 */
#define TEST_DEADLINE_MS 60000
#define TEST_DEADLINE_US (INT64_C(1000) * TEST_DEADLINE_MS)

/* Between two looks at a condition: a busy loop takes the processor from the tests beside it. */
static inline void test_pause(void)
{
	poll(NULL, 0, 5);
}

/*
 * A bound on how fast something is. It depends on the machine, so nothing is asserted here: the
 * figure is printed, and tests/chaos/test_speed.py judges it (make chaos).
 */
#define test_speed_at_most(figure, bound, unit)                                                        \
	print_message(                                                                                 \
		"speed: {\"promise\": \"%s\", \"figure\": %.6g, \"bound\": %.6g, \"unit\": \"%s\"}\n", \
		__func__, (double)(figure), (double)(bound), (unit))

#endif
