#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <string.h>

#include "lib/base/mem.h"
#include "services/links-api/lists/link_search.h"
#include "services/links-api/lists/sql_texts.h"

/* How many links have a trigram; the last one has no name. */
struct known {
	const char *name;
	int64_t links;
};

static void assert_pattern(const char *q, int64_t all, const struct known *known, const char *expected)
{
	struct link_search search;
	struct sql_texts texts = { 0 };
	link_search_init(&search, q);
	for (; known && known->name; known++) {
		for (size_t i = 0; i < search.count; i++) {
			if (strcmp(search.trigrams[i].name, known->name) == 0)
				search.trigrams[i].links = known->links;
		}
	}
	link_search_choose(&search, all);
	bool *kept = mem_array(strlen(q) + 1, sizeof(*kept));
	link_search_mark(&search, kept);
	assert_string_equal(sql_texts_around(&texts, q, kept), expected);
	free(kept);
	sql_texts_clear(&texts);
}

static void knows_the_trigrams_of_a_text_as_the_index_has_them(void **state)
{
	(void)state;
	static const char *const names[] = { " ab", "abc", "bc ", " 7 " };
	struct link_search search;
	link_search_init(&search, "-AbC--7-");
	assert_int_equal(search.count, 4);
	for (size_t i = 0; i < search.count; i++)
		assert_string_equal(search.trigrams[i].name, names[i]);
}

static void knows_none_where_a_text_does_not_say_where_words_end(void **state)
{
	(void)state;
	for (const char *const *q = (const char *const[]){ "", "a", "ab", "...", " - ", "a b", "\xc3\x9c", "\xc3\x9cxy",
	                                                   "x\xc3\x9cy", "x\xc3\x9c", NULL };
	     *q; q++) {
		struct link_search search;
		link_search_init(&search, *q);
		if (search.count != 0)
			fail_msg("%s: %s", *q, search.trigrams[0].name);
	}
}

static void asks_for_what_is_rare_and_leaves_out_what_most_links_have(void **state)
{
	(void)state;
	static const struct known known[] = { { "exa", 1000000 }, { "xam", 1000000 }, { "amp", 1000000 },
		                              { "mpl", 1000000 }, { "ple", 1000000 }, { "le4", 110000 },
		                              { "e42", 10000 },   { "42 ", 30000 },   { NULL, 0 } };
	assert_pattern("example42.", 1000000, known, "%e42.%");
	assert_pattern("Example42", 1000000, known, "%e42%");
	assert_pattern("example", 1000000, known, "%exa%");
	assert_pattern("100%_e42_ample", 1000000, known, "%100\\%\\_e42\\_am%");
}

static void asks_for_two_words_when_both_are_common(void **state)
{
	(void)state;
	static const struct known known[] = { { "abc", 500000 }, { "bcd", 300000 }, { "xyz", 400000 },
		                              { "ooo", 900000 }, { "cd ", 900000 }, { " xy", 900000 },
		                              { "yz ", 900000 }, { " oo", 900000 }, { NULL, 0 } };
	assert_pattern("abcd xyz ooo", 1000000, known, "%bcd%xyz%");
	assert_pattern("abcd ooo", 1000000, known, "%bcd%");
}

static void asks_for_six_at_most(void **state)
{
	(void)state;
	assert_pattern("abcdefghijkl", 0, NULL, "%abcdefgh%");
	assert_pattern("abcdefghijk123", 0, NULL, "%abcde%jk123%");
}

static void prefers_digits_when_nobody_has_counted(void **state)
{
	(void)state;
	assert_pattern("abcdefgh-12345678", 0, NULL, "%-1234567%");
}

static void says_how_many_links_the_index_finds_at_most(void **state)
{
	(void)state;
	struct link_search search;
	link_search_init(&search, "ab");
	link_search_choose(&search, 1000);
	assert_int_equal(link_search_found_max(&search), -1);
	link_search_init(&search, "abcd");
	search.trigrams[0].links = 70;
	search.trigrams[1].links = 50;
	link_search_choose(&search, 1000);
	assert_int_equal(link_search_found_max(&search), 50);
	search.trigrams[1].links = 0;
	assert_int_equal(link_search_found_max(&search), 0);
}

static void looks_at_the_beginning_of_a_text_without_end(void **state)
{
	(void)state;
	char q[1000];
	memset(q, 'x', sizeof(q) - 1);
	q[sizeof(q) - 1] = '\0';
	struct link_search search;
	link_search_init(&search, q);
	assert_int_equal(search.count, LINK_SEARCH_TRIGRAMS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_the_trigrams_of_a_text_as_the_index_has_them),
		cmocka_unit_test(knows_none_where_a_text_does_not_say_where_words_end),
		cmocka_unit_test(asks_for_what_is_rare_and_leaves_out_what_most_links_have),
		cmocka_unit_test(asks_for_two_words_when_both_are_common),
		cmocka_unit_test(asks_for_six_at_most),
		cmocka_unit_test(prefers_digits_when_nobody_has_counted),
		cmocka_unit_test(says_how_many_links_the_index_finds_at_most),
		cmocka_unit_test(looks_at_the_beginning_of_a_text_without_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
