#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include "services/links-api/stats/visit_cursor.h"

#define ID "0190a0b0-c0d0-7000-8000-0123456789ab"

static void a_place_is_the_same_after_the_way_through_a_client(void **state)
{
	(void)state;
	struct visit_page_place place = { .occurred_at_us = INT64_C(1795161600123456), .event_id = ID };
	struct visit_page_place back = { 0 };
	char text[VISIT_CURSOR_SIZE];
	visit_cursor_format(&place, text);
	assert_string_equal(text, "1795161600123456_" ID);
	assert_int_equal(visit_cursor_parse(text, &back), OK);
	assert_int_equal(back.occurred_at_us, place.occurred_at_us);
	assert_string_equal(back.event_id, ID);
}

static void refuses_what_it_never_writes(void **state)
{
	(void)state;
	static const char *const refused[] = {
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
	struct visit_page_place place;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (visit_cursor_parse(refused[i], &place) != ERR_INVALID)
			fail_msg("accepted: %s", refused[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_place_is_the_same_after_the_way_through_a_client),
		cmocka_unit_test(refuses_what_it_never_writes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
