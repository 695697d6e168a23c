#include <stdint.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/links-api/lists/link_search.h"
#include "services/links-api/lists/sql_texts.h"
#include "tests/support/test.h"

/* How many links contain a trigram. The list ends with a NULL name. */
struct known {
	const char *name;
	int64_t links;
};

static void assert_pattern(const char *q, int64_t all, const struct known *known,
                           const char *expected)
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
	bool *is_used = mem_array(strlen(q) + 1, sizeof(*is_used));
	link_search_mark(&search, is_used);
	assert_string_equal(sql_texts_like_fragments(&texts, q, is_used), expected);
	free(is_used);
	sql_texts_clear(&texts);
}

TEST_CASE(finds_the_same_trigrams_as_pg_trgm)
{
	static const char *const names[] = { " ab", "abc", "bc ", " 7 " };
	struct link_search search;
	link_search_init(&search, "-AbC--7-");
	assert_int_equal(search.count, 4);
	for (size_t i = 0; i < search.count; i++)
		assert_string_equal(search.trigrams[i].name, names[i]);
}

TEST_CASE(finds_none_in_short_or_non_ascii_texts)
{
	for (const char *const *q =
	             (const char *const[]){ "", "a", "ab", "...", " - ", "a b", "\xc3\x9c",
	                                    "\xc3\x9cxy", "x\xc3\x9cy", "x\xc3\x9c", NULL };
	     *q; q++) {
		struct link_search search;
		link_search_init(&search, *q);
		if (search.count != 0)
			fail_msg("%s: %s", *q, search.trigrams[0].name);
	}
}

TEST_CASE(uses_rare_trigrams_and_skips_common_ones)
{
	static const struct known known[] = { { "exa", 1000000 }, { "xam", 1000000 },
		                              { "amp", 1000000 }, { "mpl", 1000000 },
		                              { "ple", 1000000 }, { "le4", 110000 },
		                              { "e42", 10000 },   { "42 ", 30000 },
		                              { NULL, 0 } };
	assert_pattern("example42.", 1000000, known, "%e42.%");
	assert_pattern("Example42", 1000000, known, "%e42%");
	assert_pattern("example", 1000000, known, "%exa%");
	assert_pattern("100%_e42_ample", 1000000, known, "%100\\%\\_e42\\_am%");
}

TEST_CASE(uses_two_apart_if_all_trigrams_are_common)
{
	static const struct known known[] = { { "abc", 500000 }, { "bcd", 300000 },
		                              { "xyz", 400000 }, { "ooo", 900000 },
		                              { "cd ", 900000 }, { " xy", 900000 },
		                              { "yz ", 900000 }, { " oo", 900000 },
		                              { NULL, 0 } };
	assert_pattern("abcd xyz ooo", 1000000, known, "%bcd%xyz%");
	assert_pattern("abcd ooo", 1000000, known, "%bcd%");
}

TEST_CASE(uses_at_most_six_trigrams)
{
	assert_pattern("abcdefghijkl", 0, NULL, "%abcdefgh%");
	assert_pattern("abcdefghijk123", 0, NULL, "%abcde%jk123%");
}

TEST_CASE(prefers_digits_without_counts)
{
	assert_pattern("abcdefgh-12345678", 0, NULL, "%-1234567%");
}

TEST_CASE(bounds_the_matches_by_the_rarest_used_trigram)
{
	struct link_search search;
	link_search_init(&search, "ab");
	link_search_choose(&search, 1000);
	assert_int_equal(link_search_max_matches(&search), -1);
	link_search_init(&search, "abcd");
	search.trigrams[0].links = 70;
	search.trigrams[1].links = 50;
	link_search_choose(&search, 1000);
	assert_int_equal(link_search_max_matches(&search), 50);
	search.trigrams[1].links = 0;
	assert_int_equal(link_search_max_matches(&search), 0);
}

TEST_CASE(ignores_the_end_of_a_very_long_text)
{
	char q[1000];
	memset(q, 'x', sizeof(q) - 1);
	q[sizeof(q) - 1] = '\0';
	struct link_search search;
	link_search_init(&search, q);
	assert_int_equal(search.count, LINK_SEARCH_TRIGRAMS_MAX);
}

TEST_MAIN()
