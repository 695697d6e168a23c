#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "lib/base/trace_context.h"

#define ID "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT "00f067aa0ba902b7"
#define GOOD "00-" ID "-" PARENT "-01"

static void takes_what_the_recommendation_shows(void **state)
{
	(void)state;
	char context[TRACE_CONTEXT_SIZE];
	char id[TRACE_CONTEXT_ID_SIZE];
	assert_true(trace_context_read(GOOD, context));
	assert_string_equal(context, GOOD);
	trace_context_id(context, id);
	assert_string_equal(id, ID);
}

static void takes_of_later_versions_what_it_knows(void **state)
{
	(void)state;
	char context[TRACE_CONTEXT_SIZE];
	assert_true(trace_context_read("cc-" ID "-" PARENT "-01", context));
	assert_string_equal(context, GOOD);
	assert_true(trace_context_read("01-" ID "-" PARENT "-01-what the future brings", context));
	assert_string_equal(context, GOOD);
}

static void ignores_what_is_malformed(void **state)
{
	(void)state;
	static const char *const wrong[] = {
		NULL,
		"",
		"00",
		"00-" ID "-" PARENT "-0",
		"00-" ID "-" PARENT "-01-",
		"00-" ID "-" PARENT "-011",
		"01-" ID "-" PARENT "-01.more",
		"ff-" ID "-" PARENT "-01",
		"0g-" ID "-" PARENT "-01",
		"00-" ID "-" PARENT "-0G",
		"00_" ID "-" PARENT "-01",
		"00-" ID "_" PARENT "-01",
		"00-" ID "-" PARENT "_01",
		"00-00000000000000000000000000000000-" PARENT "-01",
		"00-" ID "-0000000000000000-01",
		"00-4BF92F3577B34DA6A3CE929D0E0E4736-" PARENT "-01",
		"00-4bf92f3577b34da6a3ce929d0e0e473\n-" PARENT "-01",
		" " GOOD,
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char context[TRACE_CONTEXT_SIZE] = "x";
		assert_false(trace_context_read(wrong[i], context));
		assert_string_equal(context, "");
	}
}

/* A change of any byte to any other leaves a text that can be logged and sent on. */
static void nothing_but_digits_and_dashes_comes_through(void **state)
{
	(void)state;
	for (size_t at = 0; at < strlen(GOOD); at++) {
		for (int byte = 1; byte < 256; byte++) {
			char given[] = GOOD;
			char context[TRACE_CONTEXT_SIZE];
			given[at] = (char)byte;
			if (!trace_context_read(given, context))
				continue;
			assert_int_equal(strlen(context), strlen(GOOD));
			assert_int_equal(strspn(context, "0123456789abcdef-"), strlen(GOOD));
		}
	}
}

static void knows_from_the_flags_what_is_sampled(void **state)
{
	(void)state;
	for (unsigned flags = 0; flags < 256; flags++) {
		char given[TRACE_CONTEXT_SIZE];
		char context[TRACE_CONTEXT_SIZE];
		snprintf(given, sizeof(given), "00-" ID "-" PARENT "-%02x", flags);
		assert_true(trace_context_read(given, context));
		assert_int_equal(trace_context_is_sampled(context), flags & 1);
	}
	assert_false(trace_context_is_sampled(""));
}

static void what_is_in_no_trace_has_no_id(void **state)
{
	(void)state;
	char id[TRACE_CONTEXT_ID_SIZE] = "x";
	trace_context_id("", id);
	assert_string_equal(id, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_what_the_recommendation_shows),
		cmocka_unit_test(takes_of_later_versions_what_it_knows),
		cmocka_unit_test(ignores_what_is_malformed),
		cmocka_unit_test(nothing_but_digits_and_dashes_comes_through),
		cmocka_unit_test(knows_from_the_flags_what_is_sampled),
		cmocka_unit_test(what_is_in_no_trace_has_no_id),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
