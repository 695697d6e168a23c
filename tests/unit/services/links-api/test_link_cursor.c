#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "services/links-api/lists/link_cursor.h"
#include "tests/support/test.h"

TEST_CASE(parses_what_it_formatted)
{
	static const struct link_cursor positions[] = {
		{ 0, 1 },  { INT64_MAX, INT64_MAX }, { INT64_MIN, 7 }, { 1763625600123456, 42 },
		{ -1, 1 },
	};
	for (size_t i = 0; i < sizeof(positions) / sizeof(positions[0]); i++) {
		char text[LINK_CURSOR_SIZE];
		struct link_cursor read;
		link_cursor_format(&positions[i], "query", text);
		assert_int_equal(strlen(text), LINK_CURSOR_SIZE - 1);
		assert_int_equal(link_cursor_parse(text, "query", &read), OK);
		assert_true(read.key == positions[i].key && read.id == positions[i].id);
	}
}

TEST_CASE(is_valid_only_for_its_own_query)
{
	const struct link_cursor position = { 5, 6 };
	struct link_cursor read;
	char text[LINK_CURSOR_SIZE];
	link_cursor_format(&position, "created_at by 1", text);
	assert_int_equal(link_cursor_parse(text, "created_at by 2", &read), ERR_INVALID);
	assert_int_equal(link_cursor_parse(text, "", &read), ERR_INVALID);
}

TEST_CASE(is_invalid_with_any_digit_changed_or_in_another_format)
{
	static const char *const malformed[] = { "", "0", "x", "next" };
	const struct link_cursor position = { 5, 6 };
	struct link_cursor read;
	char text[LINK_CURSOR_SIZE + 1];
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
		assert_int_equal(link_cursor_parse(malformed[i], "q", &read), ERR_INVALID);
	for (size_t i = 0; i < LINK_CURSOR_SIZE - 1; i++) {
		link_cursor_format(&position, "q", text);
		text[i] = text[i] == '0' ? '1' : '0';
		assert_int_equal(link_cursor_parse(text, "q", &read), ERR_INVALID);
		text[i] = 'G';
		assert_int_equal(link_cursor_parse(text, "q", &read), ERR_INVALID);
	}
	link_cursor_format(&position, "q", text);
	text[LINK_CURSOR_SIZE - 2] = '\0';
	assert_int_equal(link_cursor_parse(text, "q", &read), ERR_INVALID);
	link_cursor_format(&position, "q", text);
	text[LINK_CURSOR_SIZE - 1] = '0';
	text[LINK_CURSOR_SIZE] = '\0';
	assert_int_equal(link_cursor_parse(text, "q", &read), ERR_INVALID);
}

TEST_MAIN()
