#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <string.h>

#include "services/analytics-consumer/user_agent_filter.h"

struct filter_case {
	const char *regex, *text;
};

static bool lets_through(const struct filter_case *c, bool is_caseless)
{
	struct user_agent_filter *filter = user_agent_filter_new(c->regex, is_caseless);
	struct user_agent_filter_text text;
	user_agent_filter_read(c->text, strlen(c->text), &text);
	bool passes = user_agent_filter_lets_through(filter, &text);
	user_agent_filter_free(filter);
	return passes;
}

/* Each expression matches its text. */
static void lets_everything_through_that_may_match(void **state)
{
	(void)state;
	static const struct filter_case cases[] = {
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
		{ "a word that is longer than what is kept of it", "a word that is longer than what is kept of it" },
		{ "(?i)foobar", "FOOBAR" },
		{ "foobar", "FOOBAR" },
		{ "\\x66oobar", "foobar" },
		{ "foobar\\Q*\\E", "foobar*" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (!lets_through(&cases[i], true))
			fail_msg("%s keeps out %s", cases[i].regex, cases[i].text);
	}
}

static void keeps_out_what_lacks_the_words(void **state)
{
	(void)state;
	static const struct filter_case cases[] = {
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
		if (lets_through(&cases[i], true))
			fail_msg("%s lets through %s", cases[i].regex, cases[i].text);
	}
}

static void has_no_opinion_about_what_it_does_not_understand(void **state)
{
	(void)state;
	static const char *const regexes[] = { "(foobar",         "foobar)",    "foobar[",    "foobar[[:alpha:]]",
		                               "foobar\\",        "foobar\\1",  "foobar(?i)", "(?P<x>foo)",
		                               "f\xc3\xb6obar",   "foobar[a\\", "*foobar",    "foobar{",
		                               "foobar|x",        "a|b|c",      "",           "(?#c)foobar",
		                               "foobar(?>barbar)" };
	for (size_t i = 0; i < sizeof(regexes) / sizeof(regexes[0]); i++)
		assert_null(user_agent_filter_new(regexes[i], false));
}

static void lets_texts_beyond_ascii_through_where_case_does_not_matter(void **state)
{
	(void)state;
	/* The sign for kelvin is a k in any case. */
	static const struct filter_case kelvin = { "kindle", "\xe2\x84\xaaindle" };
	assert_true(lets_through(&kelvin, true));
	assert_false(lets_through(&kelvin, false));
}

static void gives_up_on_a_deep_expression(void **state)
{
	(void)state;
	char regex[300];
	memset(regex, '(', 100);
	memset(regex + 100, 'x', 100);
	memset(regex + 200, ')', 99);
	regex[299] = '\0';
	assert_null(user_agent_filter_new(regex, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lets_everything_through_that_may_match),
		cmocka_unit_test(keeps_out_what_lacks_the_words),
		cmocka_unit_test(has_no_opinion_about_what_it_does_not_understand),
		cmocka_unit_test(lets_texts_beyond_ascii_through_where_case_does_not_matter),
		cmocka_unit_test(gives_up_on_a_deep_expression),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
