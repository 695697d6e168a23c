#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/links/slug.h"
#include "tests/support/test.h"

TEST_CASE(accepts_letters_digits_underscores_and_hyphens)
{
	const char *const slugs[] = {
		"a", "Z", "0", "_", "-", "abc-DEF_019", "abcdefghijklmnopqrstuvwxyz012345"
	};
	for (size_t i = 0; i < ARRAY_SIZE(slugs); i++)
		assert_true(slug_is_valid(slugs[i], strlen(slugs[i])));
}

TEST_CASE(refuses_a_slug_longer_than_the_limit)
{
	char slug[SLUG_LENGTH_MAX + 2];
	memset(slug, 'a', sizeof(slug));
	assert_true(slug_is_valid(slug, SLUG_LENGTH_MAX));
	assert_false(slug_is_valid(slug, SLUG_LENGTH_MAX + 1));
}

TEST_CASE(refuses_an_empty_slug)
{
	assert_false(slug_is_valid("", 0));
}

TEST_CASE(refuses_every_other_byte)
{
	size_t taken = 0;
	for (int byte = 0; byte < 256; byte++) {
		char slug[3] = { 'a', (char)byte, 'b' };
		if (slug_is_valid(slug, sizeof(slug)))
			taken++;
	}
	assert_int_equal(taken, 26 + 26 + 10 + 2);
	assert_false(slug_is_valid("a\0b", 3));
	assert_false(slug_is_valid("\xc3\xa4", 2));
}

TEST_CASE(reserves_the_names_that_services_use_in_any_case)
{
	const char *const words[] = { "robots",  "api", "r",    "docs", "openapi",
		                      "metrics", "API", "Docs", "R" };
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		assert_true(slug_is_reserved(words[i]));
	assert_false(slug_is_reserved("apis"));
	assert_false(slug_is_reserved("ap"));
	assert_false(slug_is_reserved(""));
}

TEST_CASE(draws_valid_slugs_of_the_given_length)
{
	for (size_t length = 1; length <= SLUG_LENGTH_MAX; length++) {
		for (int i = 0; i < 50; i++) {
			char slug[SLUG_SIZE];
			slug_random(slug, length);
			assert_int_equal(strlen(slug), length);
			assert_true(slug_is_valid(slug, length));
			assert_null(strpbrk(slug, "_-"));
		}
	}
}

TEST_CASE(never_draws_a_reserved_slug)
{
	/* 2 of the 62 one-character slugs ("r" and "R") are reserved: 2,000 draws would hit one. */
	for (int i = 0; i < 2000; i++) {
		char slug[SLUG_SIZE];
		slug_random(slug, 1);
		assert_false(slug_is_reserved(slug));
	}
}

TEST_CASE(keeps_random_slugs_within_the_limit)
{
	char slug[SLUG_SIZE];
	slug_random(slug, 1000);
	assert_int_equal(strlen(slug), SLUG_LENGTH_MAX);
	slug_random(slug, 0);
	assert_int_equal(strlen(slug), 1);
}

/*
 * Chi-square over the 62 characters: more than 140 at 61 degrees of freedom occurs once in about 30
 * million runs.
 */
TEST_CASE(draws_every_character_equally_often)
{
	enum { DRAWS = 62 * 500 };
	int seen[256] = { 0 };
	for (int i = 0; i < DRAWS / 31; i++) {
		char slug[SLUG_SIZE];
		slug_random(slug, 31);
		for (size_t at = 0; at < 31; at++)
			seen[(unsigned char)slug[at]]++;
	}
	double chi_square = 0, expected = DRAWS / 62.0;
	for (int byte = 0; byte < 256; byte++) {
		if (slug_is_valid((char[]){ (char)byte }, 1) && byte != '_' && byte != '-')
			chi_square += (seen[byte] - expected) * (seen[byte] - expected) / expected;
	}
	assert_true(chi_square < 140);
}

TEST_CASE(finds_the_slug_in_both_kinds_of_paths)
{
	const struct {
		const char *path, *slug;
	} cases[] = {
		{ "/abc", "abc" },
		{ "/r/abc", "abc" },
		{ "/r", "r" },
		{ "/R", "R" },
		{ "/r/r", "r" },
		{ "/-_-", "-_-" },
		{ "/abcdefghijklmnopqrstuvwxyz012345", "abcdefghijklmnopqrstuvwxyz012345" },
		{ "/r/abcdefghijklmnopqrstuvwxyz012345", "abcdefghijklmnopqrstuvwxyz012345" },
		{ "/abcdefghijklmnopqrstuvwxyz012345/", "abcdefghijklmnopqrstuvwxyz012345" },
		{ "/abc/", "abc" },
		{ "/r/abc/", "abc" },
		{ "/%61bc", "abc" },
		{ "/a%62c/", "abc" },
		{ "/r/ab%63", "abc" },
		{ "/%5F%2d%5f", "_-_" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char slug[SLUG_SIZE] = "";
		assert_true(slug_of_path(cases[i].path, slug));
		assert_string_equal(slug, cases[i].slug);
	}
}

TEST_CASE(finds_no_slug_in_other_paths)
{
	const char *const paths[] = {
		"",
		"/",
		"abc",
		"//abc",
		"/abc//",
		"/r/",
		"/r//",
		"/r//abc",
		"/R/abc",
		"/r/r/abc",
		"/a/b",
		"/a%2562c",
		"/a%2fc",
		"/a%00c",
		"/abc%",
		"/abc%6",
		"/abc%6/",
		"/%2561bc",
		"/%72%2fabc",
		"/%61%61%61%61%61%61%61%61%61%61%61%61%61%61%61%61%61%61%61%61%61%61%61%61%61%61%61%61%61%61%61%61%61",
		"/a.b",
		"/abc?x",
		"/abc#x",
		"/ abc",
		"/abcdefghijklmnopqrstuvwxyz0123456",
		"/r/abcdefghijklmnopqrstuvwxyz0123456",
		"/\xc3\xa4",
		"/robots.txt",
		"/.",
		"/..",
		"/a\tb",
	};
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		char slug[SLUG_SIZE] = "untouched";
		if (slug_of_path(paths[i], slug))
			fail_msg("found a slug in %s", paths[i]);
		assert_string_equal(slug, "untouched");
	}
}

TEST_MAIN()
