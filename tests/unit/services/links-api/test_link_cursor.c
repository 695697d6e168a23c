#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "services/links-api/lists/link_cursor.h"

static void gives_back_what_it_was_made_of(void **state)
{
	(void)state;
	static const struct link_cursor places[] = {
		{ 0, 1 }, { INT64_MAX, INT64_MAX }, { INT64_MIN, 7 }, { 1763625600123456, 42 }, { -1, 1 },
	};
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char text[LINK_CURSOR_SIZE];
		struct link_cursor read;
		link_cursor_format(&places[i], "question", text);
		assert_int_equal(strlen(text), LINK_CURSOR_SIZE - 1);
		assert_int_equal(link_cursor_parse(text, "question", &read), OK);
		assert_true(read.key == places[i].key && read.id == places[i].id);
	}
}

static void belongs_to_one_question(void **state)
{
	(void)state;
	const struct link_cursor place = { 5, 6 };
	struct link_cursor read;
	char text[LINK_CURSOR_SIZE];
	link_cursor_format(&place, "created_at by 1", text);
	assert_int_equal(link_cursor_parse(text, "created_at by 2", &read), ERR_INVALID);
	assert_int_equal(link_cursor_parse(text, "", &read), ERR_INVALID);
}

static void is_refused_with_any_digit_changed_and_in_any_other_form(void **state)
{
	(void)state;
	static const char *const refused[] = { "", "0", "x", "next" };
	const struct link_cursor place = { 5, 6 };
	struct link_cursor read;
	char text[LINK_CURSOR_SIZE + 1];
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_int_equal(link_cursor_parse(refused[i], "q", &read), ERR_INVALID);
	for (size_t i = 0; i < LINK_CURSOR_SIZE - 1; i++) {
		link_cursor_format(&place, "q", text);
		text[i] = text[i] == '0' ? '1' : '0';
		assert_int_equal(link_cursor_parse(text, "q", &read), ERR_INVALID);
		text[i] = 'G';
		assert_int_equal(link_cursor_parse(text, "q", &read), ERR_INVALID);
	}
	link_cursor_format(&place, "q", text);
	text[LINK_CURSOR_SIZE - 2] = '\0';
	assert_int_equal(link_cursor_parse(text, "q", &read), ERR_INVALID);
	link_cursor_format(&place, "q", text);
	text[LINK_CURSOR_SIZE - 1] = '0';
	text[LINK_CURSOR_SIZE] = '\0';
	assert_int_equal(link_cursor_parse(text, "q", &read), ERR_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_back_what_it_was_made_of),
		cmocka_unit_test(belongs_to_one_question),
		cmocka_unit_test(is_refused_with_any_digit_changed_and_in_any_other_form),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
