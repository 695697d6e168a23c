#include <stdint.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/clicks/referrer.h"
#include "tests/support/test.h"

TEST_CASE(finds_the_host_of_each_referrer)
{
	static const struct {
		const char *referrer, *host;
	} cases[] = {
		{ "", "" },
		{ "https://www.example.com/path?q=1#f", "www.example.com" },
		{ "http://EXAMPLE.com", "example.com" },
		{ "https://example.com:8443/", "example.com" },
		{ "https://example.com./", "example.com" },
		{ "https://user:password@example.com/", "example.com" },
		{ "https://a@b@example.com/", "example.com" },
		{ "https://example.com?x@evil.com", "example.com" },
		{ "https://example.com\\@evil.com/", "example.com" },
		{ "https://192.0.2.1/", "192.0.2.1" },
		{ "https://[2001:DB8::1]:8443/x", "[2001:db8::1]" },
		{ "https://[example.com]/", "" },
		{ "android-app://com.google.android.gm/", "com.google.android.gm" },
		{ "https://b\xc3\xbc"
		  "cher.example/",
		  "b\xc3\xbc"
		  "cher.example" },
		{ "about:blank", "" },
		{ "example.com/path", "" },
		{ "//example.com/", "" },
		{ "://example.com/", "" },
		{ "https://", "" },
		{ "https:///path", "" },
		{ "https://...", "" },
		{ "https://exa mple.com/", "" },
		{ "https://example.com\n.evil/", "" },
		{ "https://<script>/", "" },
		{ "ht tp://example.com/", "" },
		{ "1https://example.com/", "" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char host[256];
		referrer_host(cases[i].referrer, host, sizeof(host));
		assert_string_equal(host, cases[i].host);
	}
}

/* The redirector writes the page, and the consumer reads the host of it. */
TEST_CASE(finds_the_whole_host_of_a_referrer_beyond_ascii_or_none)
{
	static const struct {
		const char *referrer, *host;
	} cases[] = {
		/* UTF-8 */
		{ "https://b\xc3\xbc"
		  "cher.example/a",
		  "b\xc3\xbc"
		  "cher.example" },
		{ "https://\xe4\xbe\x8b\xe3\x81\x88.\xe3\x83\x86\xe3\x82\xb9\xe3\x83\x88/",
		  "\xe4\xbe\x8b\xe3\x81\x88.\xe3\x83\x86\xe3\x82\xb9\xe3\x83\x88" },
		{ "https://xn--bcher-kva.example/", "xn--bcher-kva.example" },
		{ "https://www.example.com/caf\xe9", "www.example.com" },
		/* ISO 8859-1 */
		{ "https://b\xfc"
		  "cher.example/",
		  "" },
		{ "https://www.caf\xe9.example/a", "" },
		/* Shift JIS: the second byte of a character may be a backslash, "@" or a bracket. */
		{ "https://\x95\x5c.example/", "" },
		{ "https://\x83\x40.example/", "" },
		{ "https://\x83\x5b.example/", "" },
		/* GB 18030, KOI8-R */
		{ "https://\xc4\xe3\xba\xc3.example/", "" },
		{ "https://\xd0\xd2\xc9.example/", "" },
		/* a control character (U+0085), a character that was cut off */
		{ "https://a\xc2\x85.example/", "" },
		{ "https://b\xc3", "" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char page[256], host[256];
		referrer_page(cases[i].referrer, page, sizeof(page));
		referrer_host(page, host, sizeof(host));
		assert_string_equal(host, cases[i].host);
		referrer_host(cases[i].referrer, host, sizeof(host));
		assert_string_equal(host, cases[i].host);
	}
}

TEST_CASE(omits_a_host_that_does_not_fit)
{
	char referrer[300] = "https://";
	char host[256];
	memset(referrer + 8, 'a', 256);
	referrer_host(referrer, host, sizeof(host));
	assert_string_equal(host, "");
	referrer[8 + 255] = '\0';
	referrer_host(referrer, host, sizeof(host));
	assert_int_equal(strlen(host), 255);
}

TEST_CASE(keeps_nothing_of_a_page_that_may_hold_a_secret)
{
	static const struct {
		const char *referrer, *page;
	} cases[] = {
		{ "https://example.com/a/b", "https://example.com/a/b" },
		{ "https://example.com:8443", "https://example.com:8443" },
		{ "https://example.com/a?token=1", "https://example.com/a" },
		{ "https://example.com/a#token=1", "https://example.com/a" },
		{ "https://example.com/a;jsessionid=1/b", "https://example.com/a" },
		{ "https://example.com?token=1", "https://example.com" },
		{ "https://example.com\\token", "https://example.com" },
		{ "https://user:token@example.com/", "https://example.com/" },
		{ "https://token@user@example.com/", "https://example.com/" },
		{ "android-app://com.google.android.gm/", "android-app://com.google.android.gm/" },
		{ "https://example.com/\xff\n", "https://example.com/??" },
		{ "token", "" },
		{ "/a?token=https://example.com", "" },
		{ "https://token@", "" },
		{ "", "" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char page[256];
		referrer_page(cases[i].referrer, page, sizeof(page));
		assert_string_equal(page, cases[i].page);
	}
}

TEST_CASE(cuts_a_long_path_but_never_a_host)
{
	char page[20];
	referrer_page("https://example.com/a/b/c", page, sizeof(page));
	assert_string_equal(page, "https://example.com");
	referrer_page("https://sub.example.com/", page, sizeof(page));
	assert_string_equal(page, "");
}

TEST_MAIN()
