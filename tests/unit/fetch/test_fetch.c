#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/fetch/fetch.h"
#include "tests/support/test.h"

static void assert_reads(const char *url, const char *host, uint16_t port, const char *sent)
{
	struct fetch_url parsed;
	assert_int_equal(fetch_url_parse(url, &parsed), OK);
	assert_string_equal(parsed.host, host);
	assert_int_equal(parsed.port, port);
	assert_string_equal(parsed.url, sent);
}

TEST_CASE(normalises_the_host_as_it_will_be_resolved)
{
	assert_reads("https://Example.COM/a?b#c", "example.com", 443,
	             "https://example.com:443/a?b");
	assert_reads("HTTP://example.com?b/c", "example.com", 80, "http://example.com:80?b/c");
	assert_reads("http://example.com.:8080/", "example.com", 8080, "http://example.com:8080/");
	assert_reads("http://[2606:4700::1111]/", "2606:4700::1111", 80,
	             "http://[2606:4700::1111]:80/");
	assert_reads("http://[::FFFF:127.0.0.1]:8443/", "::ffff:127.0.0.1", 8443,
	             "http://[::ffff:127.0.0.1]:8443/");
}

/* libcurl would read them as 127.0.0.1. */
TEST_CASE(refuses_unusual_spellings_of_an_ipv4_address)
{
	const char *const spellings[] = { "2130706433", "0x7f000001",     "017700000001", "127.1",
		                          "127.0.1",    "0x7f.1",         "0177.0.0.1",   "127.1.",
		                          "0x7f.0.0.1", "%31%32%37.0.0.1" };
	struct fetch_url parsed;
	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
		char url[64];
		snprintf(url, sizeof(url), "http://%s/", spellings[i]);
		if (fetch_url_parse(url, &parsed) != ERR_INVALID)
			fail_msg("%s: %s", url, parsed.host);
	}
	assert_reads("http://127.0.0.1./", "127.0.0.1", 80, "http://127.0.0.1:80/");
}

TEST_CASE(refuses_urls_that_are_not_of_a_public_web_server)
{
	const char *const urls[] = { "",
		                     "/",
		                     "example.com",
		                     "ftp://example.com/",
		                     "file:///etc/passwd",
		                     "gopher://example.com:80/",
		                     "javascript:alert(1)",
		                     "http://user@example.com/",
		                     "http://user:password@example.com/",
		                     "http://example.com\\@a.example/",
		                     "http://exa mple.com/",
		                     "http://example.com\t/",
		                     "http://example.com/\x7f",
		                     "http://[fe80::1%25eth0]/",
		                     "http://[::1/",
		                     "http://[example.com]/",
		                     "http://\xc3\xa4.example/",
		                     "http://example.com:0/",
		                     "http://example.com:65536/",
		                     "http:///",
		                     "http://a%00b.example/",
		                     "http://a%2fb.example/" };
	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		struct fetch_url parsed;
		if (fetch_url_parse(urls[i], &parsed) != ERR_INVALID)
			fail_msg("%s: %s", urls[i], parsed.host);
	}
}

TEST_CASE(refuses_other_ports)
{
	struct fetch_url parsed;
	assert_int_equal(fetch_url_parse("http://example.com:22/", &parsed), ERR_LIMIT);
	assert_int_equal(fetch_url_parse("http://example.com:6379/", &parsed), ERR_LIMIT);
	assert_int_equal(fetch_url_parse("https://example.com:80/", &parsed), OK);
	assert_int_equal(parsed.port, 80);
}

TEST_CASE(refuses_a_url_longer_than_the_limit_of_a_link)
{
	static char url[FETCH_URL_MAX + 16] = "http://example.com/";
	struct fetch_url parsed;
	memset(url + strlen(url), 'a', FETCH_URL_MAX - strlen(url));
	assert_int_equal(fetch_url_parse(url, &parsed), OK);
	memset(url + strlen(url), 'a', 8);
	assert_int_equal(fetch_url_parse(url, &parsed), ERR_INVALID);
}

TEST_CASE(replaces_the_path)
{
	struct fetch_url parsed, robots;
	assert_int_equal(fetch_url_parse("https://example.com:8443/a/b?c=d", &parsed), OK);
	fetch_url_with_path(&parsed, "/robots.txt", &robots);
	assert_string_equal(robots.url, "https://example.com:8443/robots.txt");
	assert_string_equal(robots.host, "example.com");
}

TEST_MAIN()
