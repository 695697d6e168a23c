#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/links/slug.h"
#include "tests/support/test.h"

TEST_CASE(accepts_letters_digits_underscores_hyphens_and_dots_inside)
{
	const char *const slugs[] = { "a",           "Z",   "0",       "_",    "-",
		                      "abc-DEF_019", "a.b", "v1.2-rc", "a..b", "_.-" };
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
	assert_int_equal(taken, 26 + 26 + 10 + 3);
	assert_false(slug_is_valid("a\0b", 3));
	assert_false(slug_is_valid("\xc3\xa4", 2));
}

TEST_CASE(refuses_a_dot_at_either_end)
{
	const char *const slugs[] = { ".", "..", ".a", "a.", ".well-known", "a..", "..a" };
	for (size_t i = 0; i < ARRAY_SIZE(slugs); i++)
		assert_false(slug_is_valid(slugs[i], strlen(slugs[i])));
}

TEST_CASE(reserves_the_names_that_services_use_in_any_case)
{
	const char *const words[] = { "robots",      "api",
		                      "r",           "docs",
		                      "openapi",     "metrics",
		                      "API",         "Docs",
		                      "R",           "robots.txt",
		                      "favicon.ico", "Favicon.ICO",
		                      "index.html",  "apple-touch-icon.png",
		                      "ads.txt",     "sitemap.xml" };
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		assert_true(slug_is_reserved(words[i]));
	assert_false(slug_is_reserved("apis"));
	assert_false(slug_is_reserved("ap"));
	assert_false(slug_is_reserved("my.robots.txt"));
	assert_false(slug_is_reserved("rtxt"));
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
		if (slug_is_valid((char[]){ (char)byte }, 1) && byte != '_' && byte != '-' &&
		    byte != '.')
			chi_square += (seen[byte] - expected) * (seen[byte] - expected) / expected;
	}
	assert_true(chi_square < 140);
}

TEST_CASE(a_key_is_the_slug_in_lower_case_or_marks_an_exact_one)
{
	char key[SLUG_KEY_SIZE], longest[SLUG_SIZE];
	assert_int_equal(slug_key("Spring_2-A.z", false, key), 12);
	assert_string_equal(key, "spring_2-a.z");
	assert_int_equal(slug_key("Spring", true, key), 7);
	assert_string_equal(key, "=Spring");
	memset(longest, 'Z', SLUG_LENGTH_MAX);
	longest[SLUG_LENGTH_MAX] = '\0';
	assert_int_equal(slug_key(longest, true, key), SLUG_LENGTH_MAX + 1);
}

/* A dot may be part of a slug, so it is not like other marks at this place. */
TEST_CASE(ignores_marks_behind_a_slug_of_the_greatest_length)
{
	const char *const endings[] = { ".", "...", ",", "%2E", ").", "./", ".&a" };
	struct slug_path found;
	char path[SLUG_SIZE + 8] = "/";
	memset(path + 1, 'a', SLUG_LENGTH_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		snprintf(path + 1 + SLUG_LENGTH_MAX, 8, "%s", endings[i]);
		if (!slug_of_path(path, &found) || strlen(found.slug) != SLUG_LENGTH_MAX)
			fail_msg("no slug before %s", endings[i]);
	}
	snprintf(path + 1 + SLUG_LENGTH_MAX, 8, ".a");
	assert_false(slug_of_path(path, &found));
	/* What is longer with its dots is not. */
	snprintf(path + SLUG_LENGTH_MAX - 1, 8, "....");
	assert_true(slug_of_path(path, &found));
	assert_int_equal(strlen(found.slug), SLUG_LENGTH_MAX - 2);
}

static void assert_finds(const char *path, const char *slug, const char *query)
{
	struct slug_path found;
	if (!slug_of_path(path, &found))
		fail_msg("no slug in %s", path);
	assert_string_equal(found.slug, slug);
	assert_string_equal(found.query, query);
}

TEST_CASE(finds_the_slug_in_both_kinds_of_paths)
{
	const struct {
		const char *path, *slug;
	} cases[] = {
		{ "/abc", "abc" },     { "/r/abc", "abc" },
		{ "/r", "r" },         { "/R", "R" },
		{ "/r/r", "r" },       { "/-_-", "-_-" },
		{ "/a.b", "a.b" },     { "/robots.txt", "robots.txt" },
		{ "/abc/", "abc" },    { "/r/abc/", "abc" },
		{ "/%61bc", "abc" },   { "/a%62c/", "abc" },
		{ "/r/ab%63", "abc" }, { "/%5F%2d%5f", "_-_" },
		{ "//abc", "abc" },    { "///abc//", "abc" },
		{ "//r//abc", "abc" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_finds(cases[i].path, cases[i].slug, "");
	char path[SLUG_SIZE + 1] = "/";
	memset(path + 1, 'a', SLUG_LENGTH_MAX);
	assert_finds(path, path + 1, "");
}

TEST_CASE(ignores_what_people_and_programs_leave_behind_an_address)
{
	const char *const endings[] = {
		".",
		",",
		")",
		"!",
		":",
		";",
		"'",
		"\"",
		"]",
		"}",
		">",
		"*",
		"\\",
		"|",
		"=",
		"~",
		"...",
		").",
		"%3F",
		"%20",
		"%2E",
		"%2C",
		"%29",
		"%22",
		"%0A",
		"%0D%0A",
		"%09",
		"%E2%80%9D",
		"%E2%80%99",
		"%E2%80%A6",
		"%E2%80%8B",
		"%EF%BB%BF",
		"%C2%A0",
		"%C2%BB",
		"%E3%80%82",
		"%EF%BC%8C",
		"%EF%BC%89",
		"%D8%9F",
		"%F0%9F%91%8D",
		/* "™", and marks of Greek, Armenian, Hebrew, Ethiopic, Khmer, Burmese and Tibetan. */
		"%E2%84%A2",
		"%CD%BE",
		"%D6%89",
		"%D7%B4",
		"%E1%8D%A2",
		"%E1%9F%94",
		"%E1%81%8B",
		"%E0%BC%8D",
		"%94",
		"%A0",
		"\xe2\x80\x9d",
		"\xe2\x80\x8b",
		"\xc2\xa0",
		"/,",
		"%E2%80%9D.",
		"%20%20",
		"</a>",
		"%3C/a%3E",
		"%23top",
		"<br>more",
	};
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		char path[64];
		snprintf(path, sizeof(path), "/spring%s", endings[i]);
		assert_finds(path, "spring", "");
		snprintf(path, sizeof(path), "/r/v1.2%s", endings[i]);
		assert_finds(path, "v1.2", "");
	}
}

TEST_CASE(reads_the_query_behind_an_ampersand_or_an_escaped_question_mark)
{
	assert_finds("/spring&utm_source=x", "spring", "utm_source=x");
	assert_finds("/spring&amp;utm_source=x&b", "spring", "utm_source=x&b");
	assert_finds("/spring%3Futm_source=x", "spring", "utm_source=x");
	assert_finds("/spring.&utm_source=x", "spring", "utm_source=x");
	assert_finds("/spring/&fbclid=a.b/c", "spring", "fbclid=a.b/c");
	assert_finds("/spring%26a", "spring", "a");
	assert_finds("/spring&", "spring", "");
}

TEST_CASE(finds_no_slug_in_other_paths)
{
	const char *const paths[] = {
		"",
		"/",
		"//",
		"abc",
		"/r/",
		"/r//",
		"/R/abc",
		"/r/r/abc",
		"/a/b",
		"/a%2562c",
		"/a%2fc",
		"/a%00c",
		"/abc%00",
		"/abc%",
		"/abc%6",
		"/abc%6/",
		"/%2561bc",
		"/%72%2fabc",
		"/abc+",
		"/abc+.",
		"/abc).d",
		"/abc%E2%80%9Dd",
		"/abc/.",
		"/abc/..",
		"/abc/../",
		"/abc\xff",
		"/abc%C3",
		"/abc%C3%28",
		"/abc\xc3\xa4",
		"/abc%E6%9F%A5",
		"/\xc3\xa4",
		"/ abc",
		"/.abc",
		"/.",
		"/..",
		"/./abc",
		"/,",
		"/&utm_source=x",
		"/a\tb",
	};
	struct slug_path found;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (slug_of_path(paths[i], &found))
			fail_msg("found %s in %s", found.slug, paths[i]);
	}
	char path[SLUG_SIZE + 2] = "/";
	memset(path + 1, 'a', SLUG_SIZE);
	assert_false(slug_of_path(path, &found));
}

TEST_CASE(finds_the_slug_of_a_path_that_goes_on)
{
	static const struct {
		const char *path, *slug, *rest;
		bool is_preview;
	} cases[] = {
		{ "/go/a/b", "go", "/a/b", false },   { "/r/go/a%2Fb", "go", "/a%2Fb", false },
		{ "/go//a", "go", "//a", false },     { "/g%6F/a", "go", "/a", false },
		{ "/go/../a", "go", "/../a", false }, { "/go/+", "go", "/+", false },
		{ "/go+", "go", "", true },           { "/r/Go+", "Go", "", true },
		{ "/v1.2+", "v1.2", "", true },       { "/go%2b", "go", "", true },
		{ "/go+.", "go", "", true },
	};
	struct slug_path found;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (slug_of_path(cases[i].path, &found))
			fail_msg("%s is only a slug", cases[i].path);
		if (!slug_of_longer_path(cases[i].path, &found))
			fail_msg("no slug in %s", cases[i].path);
		assert_string_equal(found.slug, cases[i].slug);
		assert_string_equal(found.rest, cases[i].rest);
		assert_int_equal(found.is_preview, cases[i].is_preview);
	}
}

TEST_CASE(finds_no_slug_in_paths_below_a_reserved_one_and_malformed_ones)
{
	const char *const paths[] = { "/docs/a", "/r/r/abc", "/R/abc",   "/API/links",     "/go+a",
		                      "/go++b",  "/go%",     "/go%00/a", "/.well-known/x", "/+",
		                      "/..//a",  "/go;a/b",  "/go\\a" };
	struct slug_path found;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (slug_of_longer_path(paths[i], &found))
			fail_msg("%s has the slug %s", paths[i], found.slug);
}

TEST_CASE(has_two_cases)
{
	assert_true(slug_case_is_valid("folded") && !slug_case_is_exact("folded"));
	assert_true(slug_case_is_valid("exact") && slug_case_is_exact("exact"));
	assert_false(slug_case_is_valid("Exact") || slug_case_is_valid(""));
}

TEST_MAIN()
