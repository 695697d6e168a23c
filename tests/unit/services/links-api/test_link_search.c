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

static void asks_for_a_word_with_a_digit(void **state)
{
	(void)state;
	assert_word("summer campaign 4242", "4242");
	assert_word("utm_campaign=c777&x=12345", "12345");
	assert_word("  aB3dE9x  ", "aB3dE9x");
	assert_word("summer 2026 x27", "x27");
	assert_word("\xc3\x9c"
	            "1b er",
	            "\xc3\x9c"
	            "1b");
}

static void asks_for_everything_when_no_word_is_rare(void **state)
{
	(void)state;
	assert_word("a", "a");
	assert_word("Summer campaign", "Summer campaign");
	assert_word("/red-shoes-77/", "/red-shoes-77/");
	assert_word("summer 2026", "summer 2026");
	assert_word("utm_campaign=c6&", "utm_campaign=c6&");
	assert_word("a b c d", "a b c d");
	assert_word("\xc3\x9c\xc3\x9f", "\xc3\x9c\xc3\x9f");
	assert_word("...", "...");
	assert_word("", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asks_for_a_word_with_a_digit),
		cmocka_unit_test(asks_for_everything_when_no_word_is_rare),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
