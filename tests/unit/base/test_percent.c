#include <string.h>

#include "lib/base/url.h"
#include "tests/support/test.h"

TEST_CASE(decodes_escapes_and_keeps_other_bytes)
{
	const char text[] = "a%2Fb%2f+%00%ff";
	const int expected[] = { 'a', '/', 'b', '/', '+', 0, 0xff };
	size_t at = 0;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_int_equal(url_decode_next(text, strlen(text), &at), expected[i]);
	assert_int_equal(at, strlen(text));
}

TEST_CASE(refuses_malformed_escapes)
{
	const char *const texts[] = { "%", "%4", "%g1", "%1g", "%%1", "% 1" };
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		size_t at = 0;
		assert_int_equal(url_decode_next(texts[i], strlen(texts[i]), &at), -1);
	}
}

/* The bytes after len belong to something else. */
TEST_CASE(never_reads_past_the_length)
{
	for (size_t len = 1; len < 3; len++) {
		size_t at = 0;
		assert_int_equal(url_decode_next("%41", len, &at), -1);
	}
}

TEST_MAIN()
