#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "services/janitor/destinations/fetch_url.h"

static void assert_reads(const char *url, const char *host, uint16_t port, const char *sent)
{
	struct fetch_url address;
	assert_int_equal(fetch_url_parse(url, &address), OK);
	assert_string_equal(address.host, host);
	assert_int_equal(address.port, port);
	assert_string_equal(address.url, sent);
}

static void reads_the_host_as_it_will_be_looked_up(void **state)
{
	(void)state;
	assert_reads("https://Example.COM/a?b#c", "example.com", 443, "https://example.com/a?b");
	assert_reads("http://example.com.:8080/", "example.com", 8080, "http://example.com:8080/");
	assert_reads("http://[2606:4700::1111]/", "2606:4700::1111", 80, "http://[2606:4700::1111]/");
	assert_reads("http://[::FFFF:127.0.0.1]:8443/", "::ffff:127.0.0.1", 8443, "http://[::ffff:127.0.0.1]:8443/");
}

static void reads_each_spelling_of_an_ipv4_address_as_four_numbers(void **state)
{
	(void)state;
	const char *const spellings[] = { "2130706433", "0x7f000001", "017700000001", "127.1",          "127.0.1",
		                          "0x7f.1",     "0177.0.0.1", "127.0.0.1.",   "%31%32%37.0.0.1" };
	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
		char url[64];
		struct fetch_url address;
		snprintf(url, sizeof(url), "http://%s/", spellings[i]);
		assert_int_equal(fetch_url_parse(url, &address), OK);
		if (strcmp(address.host, "127.0.0.1") != 0)
			fail_msg("%s: %s", url, address.host);
	}
}

static void refuses_what_is_no_web_server_of_the_world(void **state)
{
	(void)state;
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
		struct fetch_url address;
		if (fetch_url_parse(urls[i], &address) != ERR_INVALID)
			fail_msg("%s: %s", urls[i], address.host);
	}
}

static void asks_no_other_ports(void **state)
{
	(void)state;
	struct fetch_url address;
	assert_int_equal(fetch_url_parse("http://example.com:22/", &address), ERR_LIMIT);
	assert_int_equal(fetch_url_parse("http://example.com:6379/", &address), ERR_LIMIT);
	assert_int_equal(fetch_url_parse("https://example.com:80/", &address), OK);
	assert_true(address.is_https);
}

static void refuses_a_url_longer_than_a_link_may_be(void **state)
{
	(void)state;
	static char url[4096] = "http://example.com/";
	struct fetch_url address;
	memset(url + strlen(url), 'a', FETCH_URL_SIZE - 1 - strlen(url));
	assert_int_equal(fetch_url_parse(url, &address), OK);
	url[strlen(url)] = 'a';
	assert_int_equal(fetch_url_parse(url, &address), ERR_INVALID);
}

static void finds_another_path_of_the_same_server(void **state)
{
	(void)state;
	struct fetch_url address, robots;
	assert_int_equal(fetch_url_parse("https://example.com:8443/a/b?c=d", &address), OK);
	assert_int_equal(fetch_url_with_path(&address, "/robots.txt", &robots), OK);
	assert_string_equal(robots.url, "https://example.com:8443/robots.txt");
	assert_string_equal(robots.host, "example.com");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_host_as_it_will_be_looked_up),
		cmocka_unit_test(reads_each_spelling_of_an_ipv4_address_as_four_numbers),
		cmocka_unit_test(refuses_what_is_no_web_server_of_the_world),
		cmocka_unit_test(asks_no_other_ports),
		cmocka_unit_test(refuses_a_url_longer_than_a_link_may_be),
		cmocka_unit_test(finds_another_path_of_the_same_server),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
