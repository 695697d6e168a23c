#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <string.h>

#include "services/links-api/link_search.h"

static void assert_word(const char *q, const char *word)
{
	size_t len;
	const char *found = link_search_word(q, &len);
	if (len != strlen(word) || memcmp(found, word, len) != 0)
		fail_msg("%s: found \"%.*s\", not \"%s\"", q, (int)len, found, word);
}

static void asks_for_the_word_that_is_rare_most_likely(void **state)
{
	(void)state;
	assert_word("summer", "summer");
	assert_word("Summer campaign", "campaign");
	assert_word("summer campaign 4242", "4242");
	assert_word("utm_campaign=c777&x=12345", "12345");
	assert_word("/red-shoes-77/", "shoes");
	assert_word("https://example.com/a1", "example");
	assert_word("  aB3dE9x  ", "aB3dE9x");
	assert_word("\xc3\x9c"
	            "ber uns",
	            "\xc3\x9c"
	            "ber");
}

static void asks_for_everything_when_no_word_has_a_trigram(void **state)
{
	(void)state;
	assert_word("a", "a");
	assert_word("a b c d", "a b c d");
	assert_word("\xc3\x9c\xc3\x9f", "\xc3\x9c\xc3\x9f");
	assert_word("...", "...");
	assert_word("", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asks_for_the_word_that_is_rare_most_likely),
		cmocka_unit_test(asks_for_everything_when_no_word_has_a_trigram),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
