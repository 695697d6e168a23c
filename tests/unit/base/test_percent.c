#include <string.h>

#include "lib/base/percent.h"
#include "tests/support/test.h"

static void decodes_escapes_and_keeps_other_bytes(void **state)
{
	(void)state;
	const char text[] = "a%2Fb%2f+%00%ff";
	const int expected[] = { 'a', '/', 'b', '/', '+', 0, 0xff };
	size_t at = 0;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_int_equal(percent_decode_next(text, strlen(text), &at), expected[i]);
	assert_int_equal(at, strlen(text));
}

static void refuses_malformed_escapes(void **state)
{
	(void)state;
	const char *const texts[] = { "%", "%4", "%g1", "%1g", "%%1", "% 1" };
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		size_t at = 0;
		assert_int_equal(percent_decode_next(texts[i], strlen(texts[i]), &at), -1);
	}
}

/* The bytes after len belong to something else. */
static void never_reads_past_the_length(void **state)
{
	(void)state;
	for (size_t len = 1; len < 3; len++) {
		size_t at = 0;
		assert_int_equal(percent_decode_next("%41", len, &at), -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decodes_escapes_and_keeps_other_bytes),
		cmocka_unit_test(refuses_malformed_escapes),
		cmocka_unit_test(never_reads_past_the_length),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
