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
#include <stdlib.h>

/*
 * A file of tests:
 *
 *	TEST_CASE(refuses_a_slug_longer_than_the_limit)
 *	{
 *		assert_false(slug_is_valid(...));
 *	}
 *
 *	TEST_MAIN(.set_up = set_up, .tear_down = tear_down)
 *
 * TEST_MAIN comes last and runs the tests from top to bottom. Its hooks may be left out. In a test
 * `state` is the argument that cmocka gives to tests: *state is what set_up has stored there.
 */
struct test_hooks {
	/* Where a failed hook belongs to. */
	const char *file;
	/* Once, before the first test and after the last. */
	CMFixtureFunction group_set_up;
	CMFixtureFunction group_tear_down;
	/* Before and after each test that has no hooks of its own. */
	CMFixtureFunction set_up;
	CMFixtureFunction tear_down;
};

struct test_case {
	struct CMUnitTest test;
	int line;
};

#define TEST_CASE(name) TEST_CASE_WITH(name, NULL, NULL)

/* A test with its own set_up and tear_down. Each may be NULL. */
#define TEST_CASE_WITH(name, set_up, tear_down)                                                    \
	static void name(void **state);                                                            \
	static const struct test_case name##_case = { { #name, name, set_up, tear_down, NULL },    \
		                                      __LINE__ };                                  \
	static const struct test_case *const name##_entry                                          \
		__attribute__((used, section("test_cases"))) = &name##_case;                       \
	static void name(void **state __attribute__((unused)))

#define TEST_MAIN(...)                                                                             \
	/* The linker knows where the section begins and ends. */                                  \
	extern const struct test_case *const __start_test_cases[], *const __stop_test_cases[];     \
	int main(void)                                                                             \
	{                                                                                          \
		return test_run(__start_test_cases,                                                \
		                (size_t)(__stop_test_cases - __start_test_cases),                  \
		                (struct test_hooks){ .file = __FILE__, __VA_ARGS__ });             \
	}

static inline int test_compare_lines(const void *a, const void *b)
{
	return (*(const struct test_case *const *)a)->line -
	       (*(const struct test_case *const *)b)->line;
}

/* The compiler stores the cases in any order. */
static inline int test_run(const struct test_case *const *cases, size_t count,
                           struct test_hooks hooks)
{
	const struct test_case **sorted = calloc(count, sizeof(*sorted));
	struct CMUnitTest *tests = calloc(count, sizeof(*tests));
	if (!sorted || !tests)
		abort();
	for (size_t i = 0; i < count; i++)
		sorted[i] = cases[i];
	qsort(sorted, count, sizeof(*sorted), test_compare_lines);
	for (size_t i = 0; i < count; i++) {
		tests[i] = sorted[i]->test;
		if (!tests[i].setup_func && !tests[i].teardown_func) {
			tests[i].setup_func = hooks.set_up;
			tests[i].teardown_func = hooks.tear_down;
		}
	}
	free(sorted);
	int failed = _cmocka_run_group_tests(hooks.file, tests, count, hooks.group_set_up,
	                                     hooks.group_tear_down);
	free(tests);
	return failed;
}

/*
 * How long a test waits for a condition. The bound guards against a hang. It is at least ten times
 * what is typical, so that a busy machine does not reach it.
 */
#define TEST_DEADLINE_MS 300000
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
