#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/visitors/user_agent_rules.h"
#include "tests/support/test.h"

#define REST "os_parsers:\n  - regex: 'none'\ndevice_parsers:\n  - regex: 'none'\n"

/* Loads rules from a text. The caller clears problem. */
static enum err load(const char *text, struct user_agent_rules **out, struct strbuf *problem)
{
	char path[] = "/tmp/rules-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	strbuf_init(problem, 1000);
	enum err err = user_agent_rules_load(path, out, problem);
	unlink(path);
	return err;
}

static struct user_agent_rules *rules_of(const char *text)
{
	struct user_agent_rules *rules = NULL;
	struct strbuf problem;
	enum err err = load(text, &rules, &problem);
	if (err != OK)
		print_error("%s\n", problem.data);
	assert_int_equal(err, OK);
	strbuf_clear(&problem);
	return rules;
}

static void assert_fields(const char *rules_text, const char *text, const char *family,
                          const char *major)
{
	struct user_agent_rules *rules = rules_of(rules_text);
	struct user_agent_match match;
	user_agent_rules_match(rules, USER_AGENT_RULES_BROWSER, text, strlen(text), &match);
	assert_string_equal(match.fields[0], family);
	assert_string_equal(match.fields[1], major);
	user_agent_rules_free(rules);
}

TEST_CASE(uses_the_first_rule_that_matches)
{
	assert_fields("user_agent_parsers:\n  - regex: '(B)/(\\d)'\n  - regex: '(A)/(\\d)'\n" REST,
	              "A/1 B/2", "B", "2");
}

TEST_CASE(returns_other_when_no_rule_matches)
{
	assert_fields("user_agent_parsers:\n  - regex: '(B)/(\\d)'\n" REST, "A/1", "Other", "");
}

TEST_CASE(returns_other_when_the_family_is_empty)
{
	assert_fields("user_agent_parsers:\n  - regex: 'A(x?)/(\\d)'\n" REST, "A/1", "Other", "1");
}

TEST_CASE(inserts_groups_into_replacements)
{
	assert_fields(
		"user_agent_parsers:\n  - regex: '(A)-(b)/(\\d)'\n    family_replacement: '$1 and $2$9!'\n"
		"    v1_replacement: 'v$3'\n" REST,
		"A-b/7", "A and b!", "v7");
}

TEST_CASE(keeps_a_dollar_without_a_group_number)
{
	assert_fields(
		"user_agent_parsers:\n  - regex: '(A)'\n    family_replacement: '$ $0 $x $'\n" REST,
		"A", "$ $0 $x $", "");
}

TEST_CASE(trims_results)
{
	assert_fields("user_agent_parsers:\n  - regex: 'A( +x +)/(\\d?)'\n" REST, "A  x  /", "x",
	              "");
}

TEST_CASE(is_case_sensitive_without_the_flag_i)
{
	assert_fields("user_agent_parsers:\n  - regex: '(abc)'\n" REST, "ABC", "Other", "");
	assert_fields("user_agent_parsers:\n  - regex: '(abc)'\n    regex_flag: 'i'\n" REST, "ABC",
	              "ABC", "");
}

TEST_CASE(a_rule_for_devices_before_the_one_for_spiders_wins)
{
	struct user_agent_rules *rules =
		rules_of("user_agent_parsers:\n  - regex: 'none'\nos_parsers:\n  - regex: 'none'\n"
	                 "device_parsers:\n  - regex: 'phone'\n"
	                 "  - regex: 'bot'\n    device_replacement: 'Spider'\n");
	assert_true(user_agent_rules_is_spider(rules, "a bot", 5));
	assert_false(user_agent_rules_is_spider(rules, "a phone", 7));
	assert_false(user_agent_rules_is_spider(rules, "a phone bot", 11));
	user_agent_rules_free(rules);
}

TEST_CASE(cuts_a_long_field_at_a_character)
{
	char text[600];
	char family[USER_AGENT_RULES_FIELD_SIZE];
	text[0] = 'x';
	for (size_t i = 1; i + 2 < sizeof(text); i += 2)
		memcpy(text + i, "\xc3\xa4", 3);
	memcpy(family, text, sizeof(family) - 1);
	family[sizeof(family) - 1] = '\0';
	assert_fields("user_agent_parsers:\n  - regex: '^(.*)$'\n" REST, text, family, "");
}

TEST_CASE(skips_a_rule_that_exceeds_the_backtracking_limit)
{
	char text[400];
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_fields("user_agent_parsers:\n  - regex: '^((?:a+)+)+b'\n  - regex: '(a)'\n" REST,
	              text, "a", "");
}

TEST_CASE(refuses_invalid_rules)
{
	static const struct {
		const char *text, *problem;
	} cases[] = {
		{ "user_agent_parsers:\n  - regex: '(A'\n" REST,
		  "line 2: missing closing parenthesis" },
		{ "user_agent_parsers:\n  - family_replacement: 'A'\n" REST,
		  "line 2: the rule has no regex" },
		{ REST, "no rules in user_agent_parsers" },
		{ "", "no rules in user_agent_parsers" },
		{ "- a\n- b\n", "line 1: not a mapping of lists of rules" },
		{ "user_agent_parsers:\n  - regex: {a: b}\n" REST,
		  "line 2: the rule has no regex" },
		{ "user_agent_parsers:\n  - text\n" REST, "line 2: the rule is no mapping" },
		{ "user_agent_parsers: 'text'\n" REST, "line 1: not a list of rules" },
		{ "user_agent_parsers:\n  - regex: 'unfinished\n",
		  "line 3: found unexpected end of stream" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct user_agent_rules *rules = NULL;
		struct strbuf problem;
		assert_int_equal(load(cases[i].text, &rules, &problem), ERR_INVALID);
		assert_string_equal(problem.data, cases[i].problem);
		assert_null(rules);
		strbuf_clear(&problem);
	}
}

TEST_MAIN()
