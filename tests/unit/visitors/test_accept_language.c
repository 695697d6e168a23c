#include <stdint.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/visitors/accept_language.h"
#include "tests/support/test.h"

TEST_CASE(finds_the_preferred_range_of_each_header)
{
	static const struct {
		const char *header, *range;
		size_t primary;
	} cases[] = {
		{ "", "", 0 },
		{ "de", "de", 2 },
		{ "de-AT", "de-at", 2 },
		{ "DE-at", "de-at", 2 },
		{ "en-US,en;q=0.9,de;q=0.8", "en-us", 2 },
		{ "de;q=0.5,en;q=0.8", "en", 2 },
		{ "de;q=0.8,en;q=0.8", "de", 2 },
		{ "fr;q=0.7, sv ; q=0.9 ,en", "en", 2 },
		{ "fr;q=0.7, sv ; q=0.9", "sv", 2 },
		{ "zh-Hant-TW", "zh-hant-tw", 2 },
		{ "fil-PH", "fil-ph", 3 },
		{ "*", "", 0 },
		{ "*;q=0.5, pt-BR;q=0.1", "pt-br", 2 },
		{ "de;q=0", "", 0 },
		{ "de;q=0.000,it;q=0.001", "it", 2 },
		{ "de;q=1.000", "de", 2 },
		{ "de;q=1.5,en;q=0.1", "en", 2 },
		{ "de;q=abc,en;q=0.1", "en", 2 },
		{ "de;level=1,en;q=0.1", "de", 2 }, /* other parameters are ignored */
		{ "x-klingon", "", 0 },
		{ "123,en;q=0.2", "en", 2 },
		{ "verylongword,nl", "nl", 2 },
		{ ",,,;;;,", "", 0 },
		{ "de_DE", "", 0 },
		{ "\xc3\xa4\xc3\xb6", "", 0 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char range[ACCEPT_LANGUAGE_RANGE_SIZE];
		assert_int_equal(accept_language_preferred(cases[i].header, range),
		                 cases[i].primary);
		assert_string_equal(range, cases[i].range);
	}
}

TEST_CASE(cuts_a_long_range)
{
	char range[ACCEPT_LANGUAGE_RANGE_SIZE];
	assert_int_equal(
		accept_language_preferred("en-aaaaaaaa-bbbbbbbb-cccccccc-dddddddd-eeeeeeee", range),
		2);
	assert_string_equal(range, "en-aaaaaaaa-bbbbbbbb-cccccccc-ddddd");
}

TEST_MAIN()
