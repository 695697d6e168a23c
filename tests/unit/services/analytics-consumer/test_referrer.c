#include <stdint.h>
#include <string.h>

#include "services/analytics-consumer/facts/referrer.h"
#include "tests/support/test.h"

static void finds_the_host_of_each_referrer(void **state)
{
	(void)state;
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
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char host[256];
		referrer_host(cases[i].referrer, host, sizeof(host));
		assert_string_equal(host, cases[i].host);
	}
}

static void omits_a_host_that_does_not_fit(void **state)
{
	(void)state;
	char referrer[300] = "https://";
	char host[256];
	memset(referrer + 8, 'a', 256);
	referrer_host(referrer, host, sizeof(host));
	assert_string_equal(host, "");
	referrer[8 + 255] = '\0';
	referrer_host(referrer, host, sizeof(host));
	assert_int_equal(strlen(host), 255);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_host_of_each_referrer),
		cmocka_unit_test(omits_a_host_that_does_not_fit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
