#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/trace_context.h"
#include "tests/support/test.h"

#define ID "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT "00f067aa0ba902b7"
#define GOOD "00-" ID "-" PARENT "-01"

TEST_CASE(accepts_the_example_of_the_specification)
{
	char context[TRACE_CONTEXT_SIZE];
	char id[TRACE_CONTEXT_ID_SIZE];
	assert_true(trace_context_parse(GOOD, context));
	assert_string_equal(context, GOOD);
	trace_context_id(context, id);
	assert_string_equal(id, ID);
}

TEST_CASE(reduces_later_versions_to_version_00)
{
	char context[TRACE_CONTEXT_SIZE];
	assert_true(trace_context_parse("cc-" ID "-" PARENT "-01", context));
	assert_string_equal(context, GOOD);
	assert_true(trace_context_parse("01-" ID "-" PARENT "-01-what the future brings", context));
	assert_string_equal(context, GOOD);
}

TEST_CASE(refuses_malformed_values)
{
	static const char *const malformed[] = {
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
	for (size_t i = 0; i < ARRAY_SIZE(malformed); i++) {
		char context[TRACE_CONTEXT_SIZE] = "x";
		assert_false(trace_context_parse(malformed[i], context));
		assert_string_equal(context, "");
	}
}

/* Whatever byte is changed, an accepted value stays safe to log and to pass on. */
TEST_CASE(accepts_only_digits_and_dashes)
{
	for (size_t at = 0; at < strlen(GOOD); at++) {
		for (int byte = 1; byte < 256; byte++) {
			char header[] = GOOD;
			char context[TRACE_CONTEXT_SIZE];
			header[at] = (char)byte;
			if (!trace_context_parse(header, context))
				continue;
			assert_int_equal(strlen(context), strlen(GOOD));
			assert_int_equal(strspn(context, "0123456789abcdef-"), strlen(GOOD));
		}
	}
}

TEST_CASE(reads_the_sampled_flag)
{
	for (unsigned flags = 0; flags < 256; flags++) {
		char header[TRACE_CONTEXT_SIZE];
		char context[TRACE_CONTEXT_SIZE];
		snprintf(header, sizeof(header), "00-" ID "-" PARENT "-%02x", flags);
		assert_true(trace_context_parse(header, context));
		assert_int_equal(trace_context_is_sampled(context), flags & 1);
	}
	assert_false(trace_context_is_sampled(""));
}

TEST_CASE(no_trace_has_no_id)
{
	char id[TRACE_CONTEXT_ID_SIZE] = "x";
	trace_context_id("", id);
	assert_string_equal(id, "");
}

TEST_CASE(names_another_span_in_a_context)
{
	char context[TRACE_CONTEXT_SIZE] = GOOD;
	char parent[TRACE_CONTEXT_PARENT_SIZE];
	trace_context_parent(context, parent);
	assert_string_equal(parent, PARENT);
	trace_context_set_parent(context, 0xabc);
	assert_string_equal(context, "00-" ID "-0000000000000abc-01");
	trace_context_parent("", parent);
	assert_string_equal(parent, "");
}

TEST_CASE(begins_a_sampled_trace)
{
	char context[TRACE_CONTEXT_SIZE];
	char parsed[TRACE_CONTEXT_SIZE];
	trace_context_begin(context, (uint64_t[2]){ 1, UINT64_MAX }, 0xfe);
	assert_string_equal(context, "00-0000000000000001ffffffffffffffff-00000000000000fe-01");
	assert_true(trace_context_parse(context, parsed));
	assert_true(trace_context_is_sampled(parsed));
}

TEST_MAIN()
