#include <stdint.h>
#include <string.h>

#include "services/analytics-consumer/facts/user_agent_prefilter.h"
#include "tests/support/test.h"

struct prefilter_case {
	const char *regex, *text;
};

static bool may_match(const struct prefilter_case *c, bool is_caseless)
{
	struct user_agent_prefilter *filter = user_agent_prefilter_new(c->regex, is_caseless);
	struct user_agent_prefilter_text text;
	user_agent_prefilter_scan(c->text, strlen(c->text), &text);
	bool result = user_agent_prefilter_may_match(filter, &text);
	user_agent_prefilter_free(filter);
	return result;
}

/* Each expression really matches its text. */
TEST_CASE(accepts_every_text_that_matches)
{
	static const struct prefilter_case cases[] = {
		{ "(Firefox)/(\\d+)", "Firefox/1" },
		{ "iPhone|iPad", "an iPad" },
		{ "colou?rs", "colors" },
		{ "abc*def", "abdef" },
		{ "abc{0,2}def", "abdef" },
		{ "abc*?def", "abdef" },
		{ "abc+def", "abccdef" },
		{ "abc++def", "abccdef" },
		{ "(?:Mobile )?Safari", "Safari" },
		{ "(?:Mobile |)Safari", "Safari" },
		{ "(?:Mobile ){0,2}Safari", "Safari" },
		{ "(?:Mobile )*Safari", "Safari" },
		{ "[Ss]pider", "spider" },
		{ "[Ss]pider", "Spider" },
		{ "web[Ss]?ite", "website" },
		{ "web[Ss]?ite", "webite" },
		{ "[Aa]?bcd", "bcd" },
		{ "[aa]bcd", "abcd" },
		{ "[ab]cde", "bcde" },
		{ "[^a]bcd", "xbcd" },
		{ "[]a]bcd", "]bcd" },
		{ "[^]a]bcd", "xbcd" },
		{ "[\\]a]bcd", "]bcd" },
		{ "foo\\.bar\\/baz", "foo.bar/baz" },
		{ "foo\\bbar|xyz", "xyz" },
		{ "foo\\d*bar", "foobar" },
		{ "foo.?bar", "foobar" },
		{ "^foo$", "foo" },
		{ "foo(?!barbar)", "foo" },
		{ "foo(?=bar)", "foobar" },
		{ "(?<!barbar)foo", "foo" },
		{ "(?<=bar)foo", "barfoo" },
		{ "foobar|", "" },
		{ "(foo|(bar|bazbaz))", "bar" },
		{ "((((foo))))", "foo" },
		{ "ab?c", "ac" },
		{ "[\\d.]+abc", "1.1abc" },
		{ "a word that is longer than what is kept of it",
		  "a word that is longer than what is kept of it" },
		{ "(?i)foobar", "FOOBAR" },
		{ "foobar", "FOOBAR" },
		{ "\\x66oobar", "foobar" },
		{ "foobar\\Q*\\E", "foobar*" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (!may_match(&cases[i], true))
			fail_msg("the prefilter of %s rejects %s", cases[i].regex, cases[i].text);
	}
}

TEST_CASE(rejects_texts_without_a_required_literal)
{
	static const struct prefilter_case cases[] = {
		{ "(Firefox)/(\\d+)", "Chrome/1" },
		{ "iPhone|iPad", "iPod" },
		{ "colou?rs", "cool" },
		{ "(?:Mobile )?Safari", "Mobile Chrome" },
		{ "[Ss]pider", "robot" },
		{ "foo\\.bar", "fooxbar" },
		{ "(a|bcd)efgh", "abcd" },
		{ "(foo|(bar|bazbaz))", "ba" },
		{ "a.*Windows.*b", "a Linux b" },
		{ "a word that is longer than what is kept of it", "a word that was long" },
		{ "abcdef", "" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (may_match(&cases[i], true))
			fail_msg("the prefilter of %s accepts %s", cases[i].regex, cases[i].text);
	}
}

TEST_CASE(has_no_prefilter_for_unsupported_syntax)
{
	static const char *const regexes[] = {
		"(foobar",         "foobar)",    "foobar[",    "foobar[[:alpha:]]",
		"foobar\\",        "foobar\\1",  "foobar(?i)", "(?P<x>foo)",
		"f\xc3\xb6obar",   "foobar[a\\", "*foobar",    "foobar{",
		"foobar|x",        "a|b|c",      "",           "(?#c)foobar",
		"foobar(?>barbar)"
	};
	for (size_t i = 0; i < sizeof(regexes) / sizeof(regexes[0]); i++)
		assert_null(user_agent_prefilter_new(regexes[i], false));
}

TEST_CASE(accepts_texts_beyond_ascii_when_case_is_ignored)
{
	/* Without regard to case, the Kelvin sign equals k. */
	static const struct prefilter_case kelvin = { "kindle", "\xe2\x84\xaaindle" };
	assert_true(may_match(&kelvin, true));
	assert_false(may_match(&kelvin, false));
}

TEST_CASE(has_no_prefilter_for_deeply_nested_groups)
{
	char regex[300];
	memset(regex, '(', 100);
	memset(regex + 100, 'x', 100);
	memset(regex + 200, ')', 99);
	regex[299] = '\0';
	assert_null(user_agent_prefilter_new(regex, false));
}

TEST_MAIN()
