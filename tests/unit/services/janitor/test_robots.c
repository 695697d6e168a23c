#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <string.h>

#include "services/janitor/destinations/robots.h"

static int64_t delay(const char *text)
{
	return robots_delay_ms(text, strlen(text), "Waymark");
}

static void asks_for_no_pause_without_a_crawl_delay(void **state)
{
	(void)state;
	assert_int_equal(delay(""), 0);
	assert_int_equal(delay("User-agent: *\nDisallow: /\n"), 0);
	assert_int_equal(delay("<html>Crawl-delay: 5</html>"), 0);
	assert_int_equal(delay("Crawl-delay: 5\n"), 0); /* of no group */
}

static void takes_the_delay_of_everybody(void **state)
{
	(void)state;
	assert_int_equal(delay("User-agent: *\nCrawl-delay: 10\n"), 10000);
	assert_int_equal(delay("\xef\xbb\xbfuser-AGENT :\t* # all\r\nDisallow:\r\n crawl-DELAY:10 # s"), 10000);
	assert_int_equal(delay("User-agent: a\nUser-agent: *\nUser-agent: b\nCrawl-delay: 1.5\n"), 1500);
	assert_int_equal(delay("User-agent: *\rCrawl-delay: 0.25\r"), 250);
}

static void goes_by_the_group_that_names_us_if_there_is_one(void **state)
{
	(void)state;
	assert_int_equal(delay("User-agent: *\nCrawl-delay: 10\n\nUser-agent: WAYMARK\nCrawl-delay: 2\n"), 2000);
	assert_int_equal(delay("User-agent: waymark\nDisallow:\n\nUser-agent: *\nCrawl-delay: 10\n"), 0);
	assert_int_equal(delay("User-agent: waymarks\nCrawl-delay: 3\n"), 0);
	/* Two groups of one agent are one (RFC 9309, 2.2.1); the longer pause is right for both. */
	assert_int_equal(delay("User-agent: waymark\nCrawl-delay: 2\nUser-agent: waymark\nCrawl-delay: 1\n"), 2000);
}

static void lets_a_group_end_where_the_next_begins(void **state)
{
	(void)state;
	assert_int_equal(delay("User-agent: *\nDisallow: /x\nUser-agent: other\nCrawl-delay: 9\n"), 0);
	/* A sitemap belongs to no group, and ends none. */
	assert_int_equal(delay("User-agent: *\nSitemap: https://a.example/s\nUser-agent: b\nCrawl-delay: 9\n"), 9000);
}

static void reads_nonsense_as_none_and_a_century_as_a_day(void **state)
{
	(void)state;
	assert_int_equal(delay("User-agent: *\nCrawl-delay: -1\n"), 0);
	assert_int_equal(delay("User-agent: *\nCrawl-delay: 1e3\n"), 0);
	assert_int_equal(delay("User-agent: *\nCrawl-delay:\n"), 0);
	assert_int_equal(delay("User-agent: *\nCrawl-delay: 1.2.3\n"), 0);
	assert_int_equal(delay("User-agent: *\nCrawl-delay: 99999999999999999999999999\n"), ROBOTS_DELAY_MS_MAX);
	assert_int_equal(delay("User-agent: *\nCrawl-delay: 0.00000000000000000000001\n"), 0);
	const char bytes[] = "User-agent: *\0\nCrawl-delay: 3\n\xff\xfe:\n:";
	assert_int_equal(robots_delay_ms(bytes, sizeof(bytes), "Waymark"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asks_for_no_pause_without_a_crawl_delay),
		cmocka_unit_test(takes_the_delay_of_everybody),
		cmocka_unit_test(goes_by_the_group_that_names_us_if_there_is_one),
		cmocka_unit_test(lets_a_group_end_where_the_next_begins),
		cmocka_unit_test(reads_nonsense_as_none_and_a_century_as_a_day),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
