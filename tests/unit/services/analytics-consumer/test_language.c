#include <stdint.h>

#include "services/analytics-consumer/facts/language.h"
#include "tests/support/test.h"

TEST_CASE(finds_the_preferred_language_of_each_header)
{
	static const struct {
		const char *header, *language;
	} cases[] = {
		{ "", "" },
		{ "de", "de" },
		{ "de-AT", "de" },
		{ "DE-at", "de" },
		{ "en-US,en;q=0.9,de;q=0.8", "en" },
		{ "de;q=0.5,en;q=0.8", "en" },
		{ "de;q=0.8,en;q=0.8", "de" },
		{ "fr;q=0.7, sv ; q=0.9 ,en", "en" },
		{ "fr;q=0.7, sv ; q=0.9", "sv" },
		{ "zh-Hant-TW", "zh" },
		{ "fil-PH", "fil" },
		{ "*", "" },
		{ "*;q=0.5, pt-BR;q=0.1", "pt" },
		{ "de;q=0", "" },
		{ "de;q=0.000,it;q=0.001", "it" },
		{ "de;q=1.000", "de" },
		{ "de;q=1.5,en;q=0.1", "en" },
		{ "de;q=abc,en;q=0.1", "en" },
		{ "de;level=1,en;q=0.1", "de" }, /* other parameters are ignored */
		{ "x-klingon", "" },
		{ "123,en;q=0.2", "en" },
		{ "verylongword,nl", "nl" },
		{ ",,,;;;,", "" },
		{ "de_DE", "" },
		{ "\xc3\xa4\xc3\xb6", "" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char language[16];
		language_of(cases[i].header, language, sizeof(language));
		assert_string_equal(language, cases[i].language);
	}
}

TEST_MAIN()
