#include <stdint.h>
#include <string.h>

#include "services/janitor/destinations/robots.h"
#include "tests/support/test.h"

static int64_t delay(const char *text)
{
	return robots_delay_ms(text, strlen(text), "Waymark");
}

TEST_CASE(returns_no_delay_without_a_crawl_delay)
{
	assert_int_equal(delay(""), 0);
	assert_int_equal(delay("User-agent: *\nDisallow: /\n"), 0);
	assert_int_equal(delay("<html>Crawl-delay: 5</html>"), 0);
	assert_int_equal(delay("Crawl-delay: 5\n"), 0); /* in no group */
}

TEST_CASE(uses_the_delay_for_all_agents)
{
	assert_int_equal(delay("User-agent: *\nCrawl-delay: 10\n"), 10000);
	assert_int_equal(
		delay("\xef\xbb\xbfuser-AGENT :\t* # all\r\nDisallow:\r\n crawl-DELAY:10 # s"),
		10000);
	assert_int_equal(delay("User-agent: a\nUser-agent: *\nUser-agent: b\nCrawl-delay: 1.5\n"),
	                 1500);
	assert_int_equal(delay("User-agent: *\rCrawl-delay: 0.25\r"), 250);
}

TEST_CASE(prefers_the_group_that_names_our_agent)
{
	assert_int_equal(
		delay("User-agent: *\nCrawl-delay: 10\n\nUser-agent: WAYMARK\nCrawl-delay: 2\n"),
		2000);
	assert_int_equal(
		delay("User-agent: waymark\nDisallow:\n\nUser-agent: *\nCrawl-delay: 10\n"), 0);
	assert_int_equal(delay("User-agent: waymarks\nCrawl-delay: 3\n"), 0);
	/* Two groups of one agent are merged (RFC 9309, 2.2.1); the longer delay satisfies both. */
	assert_int_equal(
		delay("User-agent: waymark\nCrawl-delay: 2\nUser-agent: waymark\nCrawl-delay: 1\n"),
		2000);
}

TEST_CASE(ends_a_group_where_the_next_begins)
{
	assert_int_equal(delay("User-agent: *\nDisallow: /x\nUser-agent: other\nCrawl-delay: 9\n"),
	                 0);
	/* A Sitemap line belongs to no group and ends none. */
	assert_int_equal(
		delay("User-agent: *\nSitemap: https://a.example/s\nUser-agent: b\nCrawl-delay: 9\n"),
		9000);
}

TEST_CASE(ignores_invalid_delays_and_caps_long_ones)
{
	assert_int_equal(delay("User-agent: *\nCrawl-delay: -1\n"), 0);
	assert_int_equal(delay("User-agent: *\nCrawl-delay: 1e3\n"), 0);
	assert_int_equal(delay("User-agent: *\nCrawl-delay:\n"), 0);
	assert_int_equal(delay("User-agent: *\nCrawl-delay: 1.2.3\n"), 0);
	assert_int_equal(delay("User-agent: *\nCrawl-delay: 99999999999999999999999999\n"),
	                 ROBOTS_DELAY_MS_MAX);
	assert_int_equal(delay("User-agent: *\nCrawl-delay: 0.00000000000000000000001\n"), 0);
	const char bytes[] = "User-agent: *\0\nCrawl-delay: 3\n\xff\xfe:\n:";
	assert_int_equal(robots_delay_ms(bytes, sizeof(bytes), "Waymark"), 0);
}

TEST_MAIN()
