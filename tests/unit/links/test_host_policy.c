#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/links/host_policy.h"
#include "tests/support/test.h"

static struct host_policy *policy_of(const char *blocked, const char *allowed)
{
	struct host_policy *policy = host_policy_new();
	size_t line = 0;
	assert_int_equal(host_policy_add_list(policy, HOST_POLICY_BLOCKLIST, blocked,
	                                      strlen(blocked), &line),
	                 OK);
	assert_int_equal(host_policy_add_list(policy, HOST_POLICY_ALLOWLIST, allowed,
	                                      strlen(allowed), &line),
	                 OK);
	return policy;
}

struct expectation {
	const char *url;
	enum host_policy_decision decision;
};

static void expect(const char *blocked, const char *allowed, const struct expectation *expectations,
                   size_t count)
{
	struct host_policy *policy = policy_of(blocked, allowed);
	for (size_t i = 0; i < count; i++) {
		enum host_policy_decision decision = host_policy_check(policy, expectations[i].url);
		if (decision != expectations[i].decision)
			fail_msg("%s gives decision %d", expectations[i].url, (int)decision);
	}
	host_policy_free(policy);
}

#define EXPECT(blocked, allowed, ...)                                                              \
	expect(blocked, allowed, (const struct expectation[]){ __VA_ARGS__ },                      \
	       sizeof((const struct expectation[]){ __VA_ARGS__ }) / sizeof(struct expectation))

TEST_CASE(allows_every_host_without_rules)
{
	EXPECT("", "# nothing\n\n", { "https://example.com/", HOST_POLICY_ALLOWED },
	       { "nonsense", HOST_POLICY_ALLOWED });
}

TEST_CASE(blocks_one_host_and_no_similar_ones)
{
	EXPECT("evil.example\n", "", { "https://evil.example/", HOST_POLICY_BLOCKED },
	       { "http://evil.example:8080/a?b#c", HOST_POLICY_BLOCKED },
	       { "https://evil.example./", HOST_POLICY_BLOCKED },
	       { "https://evil.example", HOST_POLICY_BLOCKED },
	       { "https://evil.example?q", HOST_POLICY_BLOCKED },
	       { "https://www.evil.example/", HOST_POLICY_ALLOWED },
	       { "https://notevil.example/", HOST_POLICY_ALLOWED },
	       { "https://example/", HOST_POLICY_ALLOWED },
	       { "https://evil.example.org/", HOST_POLICY_ALLOWED },
	       { "https://good.example/evil.example", HOST_POLICY_ALLOWED },
	       { "https://good.example/?u=https://evil.example/", HOST_POLICY_ALLOWED });
}

TEST_CASE(a_leading_dot_blocks_subdomains_too)
{
	EXPECT(".evil.example", "", { "https://evil.example/", HOST_POLICY_BLOCKED },
	       { "https://a.evil.example/", HOST_POLICY_BLOCKED },
	       { "https://a.b.c.evil.example./x", HOST_POLICY_BLOCKED },
	       { "https://notevil.example/", HOST_POLICY_ALLOWED },
	       { "https://example/", HOST_POLICY_ALLOWED });
}

TEST_CASE(blocks_a_whole_top_level_domain)
{
	EXPECT(".zip", "", { "https://a.zip/", HOST_POLICY_BLOCKED },
	       { "https://zip/", HOST_POLICY_BLOCKED }, { "https://a.zipp/", HOST_POLICY_ALLOWED });
}

TEST_CASE(an_allow_list_excludes_all_other_hosts)
{
	EXPECT("", ".ours.example\nshop.example", { "https://ours.example/", HOST_POLICY_ALLOWED },
	       { "https://www.ours.example/", HOST_POLICY_ALLOWED },
	       { "https://shop.example/", HOST_POLICY_ALLOWED },
	       { "https://www.shop.example/", HOST_POLICY_NOT_ALLOWED },
	       { "https://elsewhere.example/", HOST_POLICY_NOT_ALLOWED },
	       { "nonsense", HOST_POLICY_NOT_ALLOWED });
}

TEST_CASE(blocking_wins_over_allowing)
{
	EXPECT(".bad.ours.example", ".ours.example",
	       { "https://ours.example/", HOST_POLICY_ALLOWED },
	       { "https://x.bad.ours.example/", HOST_POLICY_BLOCKED });
	EXPECT(".ours.example", "good.ours.example",
	       { "https://good.ours.example/", HOST_POLICY_BLOCKED });
}

TEST_CASE(matches_addresses_in_every_spelling_without_subdomains)
{
	EXPECT("203.0.113.7\n.198.51.100.1\n[2001:DB8:0:0:0:0:0:7]\n[::ffff:192.0.2.1]", "",
	       { "http://203.0.113.7/", HOST_POLICY_BLOCKED },
	       { "http://203.0.113.7:81/", HOST_POLICY_BLOCKED },
	       { "http://203.0.113.77/", HOST_POLICY_ALLOWED },
	       { "http://198.51.100.1/", HOST_POLICY_BLOCKED },
	       { "http://[2001:db8::7]:8080/x", HOST_POLICY_BLOCKED },
	       { "http://[2001:db8::8]/", HOST_POLICY_ALLOWED },
	       { "http://[::ffff:c000:201]/", HOST_POLICY_BLOCKED });
}

TEST_CASE(knows_an_ipv4_host_in_the_clothes_of_ipv6)
{
	EXPECT("203.0.113.7\n[64:ff9b::192.0.2.1]", "",
	       { "http://[::ffff:203.0.113.7]/", HOST_POLICY_BLOCKED },
	       { "http://[::ffff:cb00:7107]:81/", HOST_POLICY_BLOCKED },
	       { "http://[64:ff9b::cb00:7107]/", HOST_POLICY_BLOCKED },
	       { "http://192.0.2.1/", HOST_POLICY_BLOCKED },
	       { "http://[::ffff:192.0.2.1]/", HOST_POLICY_BLOCKED },
	       { "http://[2001:db8::cb00:7107]/", HOST_POLICY_ALLOWED },
	       { "http://[::ffff:203.0.113.8]/", HOST_POLICY_ALLOWED });
	EXPECT("", "203.0.113.7", { "http://[::ffff:203.0.113.7]/", HOST_POLICY_ALLOWED },
	       { "http://[::ffff:203.0.113.8]/", HOST_POLICY_NOT_ALLOWED });
}

TEST_CASE(treats_names_that_resemble_addresses_as_names)
{
	EXPECT(".node1", "", { "http://db.node1/", HOST_POLICY_BLOCKED },
	       { "http://node1/", HOST_POLICY_BLOCKED });
}

TEST_CASE(parses_lists_with_comments_blanks_and_any_case)
{
	EXPECT("# bad ones\r\n\n  Evil.EXAMPLE \t# since May\r\n\t.xn--bcher-kva.example.\n", "",
	       { "https://evil.example/", HOST_POLICY_BLOCKED },
	       { "https://www.xn--bcher-kva.example/", HOST_POLICY_BLOCKED });
}

TEST_CASE(reports_the_line_that_is_not_a_host)
{
	const char *const invalid[] = { "https://a.example",
		                        "a.example/x",
		                        "b\xc3\xbcrste.example",
		                        "..a.example",
		                        "a..example",
		                        "*.a.example",
		                        "a b",
		                        "1.2.3",
		                        "[::1",
		                        "1.2.3.04",
		                        ".",
		                        "a.example:80" };
	for (size_t i = 0; i < ARRAY_SIZE(invalid); i++) {
		char list[128];
		size_t line = 0;
		struct host_policy *policy = host_policy_new();
		snprintf(list, sizeof(list), "good.example\n\n%s\nother.example\n", invalid[i]);
		if (host_policy_add_list(policy, HOST_POLICY_BLOCKLIST, list, strlen(list),
		                         &line) != ERR_INVALID)
			fail_msg("%s was accepted", invalid[i]);
		assert_int_equal(line, 3);
		host_policy_free(policy);
	}
}

TEST_CASE(refuses_a_nul)
{
	static const struct {
		const char *text;
		size_t len;
	} rules[] = { { "[2001:db8::9\0001]", 15 },
		      { "1.2.3.4\000.5", 10 },
		      { "a.example\000.b", 12 },
		      { "\000", 1 } };
	struct host_policy *policy = host_policy_new();
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		assert_int_equal(
			host_policy_add(policy, HOST_POLICY_BLOCKLIST, rules[i].text, rules[i].len),
			ERR_INVALID);
	host_policy_free(policy);
}

TEST_CASE(refuses_names_that_are_too_long)
{
	char name[HOST_POLICY_NAME_MAX + 2];
	memset(name, 'a', sizeof(name));
	struct host_policy *policy = host_policy_new();
	assert_int_equal(host_policy_add(policy, HOST_POLICY_BLOCKLIST, name, sizeof(name)),
	                 ERR_INVALID);
	assert_int_equal(host_policy_add(policy, HOST_POLICY_BLOCKLIST, name, HOST_POLICY_NAME_MAX),
	                 OK);
	host_policy_free(policy);
}

TEST_CASE(finds_each_of_many_names_and_no_others)
{
	enum { MANY = 50000 };
	struct host_policy *policy = host_policy_new();
	char text[64];
	for (int i = 0; i < MANY; i++) {
		int len = snprintf(text, sizeof(text), ".h%d.example", i);
		assert_int_equal(host_policy_add(policy, HOST_POLICY_BLOCKLIST, text, (size_t)len),
		                 OK);
	}
	assert_int_equal(host_policy_count(policy), MANY);
	for (int i = 0; i < 2 * MANY; i++) {
		snprintf(text, sizeof(text), "https://www.h%d.example/", i);
		assert_int_equal(host_policy_check(policy, text),
		                 i < MANY ? HOST_POLICY_BLOCKED : HOST_POLICY_ALLOWED);
	}
	host_policy_free(policy);
}

TEST_CASE(refuses_more_rules_than_the_limit)
{
	struct host_policy *policy = host_policy_new();
	char text[64];
	for (int i = 0; i < HOST_POLICY_RULES_MAX; i++) {
		int len = snprintf(text, sizeof(text), "h%d", i);
		assert_int_equal(host_policy_add(policy, HOST_POLICY_BLOCKLIST, text, (size_t)len),
		                 OK);
	}
	assert_int_equal(host_policy_add(policy, HOST_POLICY_BLOCKLIST, "x", 1), ERR_LIMIT);
	host_policy_free(policy);
}

TEST_MAIN()
