#include <stdint.h>

#include "services/links-api/statistics/visit_page.h"
#include "tests/support/test.h"

#define ID "0190a0b0-c0d0-7000-8000-0123456789ab"

TEST_CASE(parses_what_it_formatted)
{
	struct visit_page_cursor position = { .occurred_at_us = INT64_C(1795161600123456),
		                              .event_id = ID };
	struct visit_page_cursor parsed = { 0 };
	char text[VISIT_PAGE_CURSOR_SIZE];
	visit_page_cursor_format(&position, text);
	assert_string_equal(text, "1795161600123456_" ID);
	assert_int_equal(visit_page_cursor_parse(text, &parsed), OK);
	assert_int_equal(parsed.occurred_at_us, position.occurred_at_us);
	assert_string_equal(parsed.event_id, ID);
}

TEST_CASE(rejects_everything_else)
{
	static const char *const malformed[] = {
		"",
		"_",
		"1",
		"1_",
		"_" ID,
		"x_" ID,
		"-1_" ID,
		"1_" ID "0",
		"1_0190A0B0-C0D0-7000-8000-0123456789AB",
		"1_0190a0b0xc0d0-7000-8000-0123456789ab",
		"1_0190a0b0-c0d0-7000-8000-0123456789a",
		"253402300800000000_" ID,
		"99999999999999999999999999999999999999999999999999999999999999999999_" ID,
	};
	struct visit_page_cursor position;
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
		if (visit_page_cursor_parse(malformed[i], &position) != ERR_INVALID)
			fail_msg("accepted: %s", malformed[i]);
}

TEST_MAIN()
