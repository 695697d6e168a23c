#include <stdint.h>
#include <string.h>

#include "lib/base/url.h"
#include "tests/support/test.h"

TEST_CASE(normalises_every_address_like_browsers)
{
	static const char *const spellings[][2] = {
		{ "[::]", "[::]" },
		{ "[0:0:0:0:0:0:0:1]", "[::1]" },
		{ "[2001:DB8:0::7]", "[2001:db8::7]" },
		{ "[2001:0db8::0001:0:0:0]", "[2001:db8:0:0:1::]" },
		{ "[1:0:0:2:0:0:0:3]", "[1:0:0:2::3]" },
		{ "[1:0:0:2:3:0:0:4]", "[1::2:3:0:0:4]" },
		{ "[1:0:2:3:4:5:6:7]", "[1:0:2:3:4:5:6:7]" },
		{ "[::ffff:192.0.2.1]", "[::ffff:c000:201]" },
		{ "[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]",
		  "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]" },
	};
	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
		char out[URL_IPV6_SIZE] = "";
		assert_true(url_ipv6_normalise(spellings[i][0], strlen(spellings[i][0]), out));
		assert_string_equal(out, spellings[i][1]);
	}
}

TEST_CASE(finds_embedded_ipv4_addresses)
{
	static const char *const dressed[] = {
		"[::ffff:203.0.113.7]",
		"[::FFFF:cb00:7107]",
		"[64:ff9b::203.0.113.7]",
		"[0064:ff9b:0::cb00:7107]",
	};
	static const char *const others[] = {
		"[::203.0.113.7]",
		"[::ffff:0:cb00:7107]",
		"[64:ff9b:1::cb00:7107]",
		"[2001:db8::cb00:7107]",
		"[::fffe:cb00:7107]",
		"[::ffff:203.0.113.7",
		"203.0.113.7",
		"[]",
	};
	for (size_t i = 0; i < sizeof(dressed) / sizeof(dressed[0]); i++) {
		char out[URL_IPV6_IPV4_SIZE] = "";
		assert_true(url_ipv6_is_ipv4(dressed[i], strlen(dressed[i]), out));
		assert_string_equal(out, "203.0.113.7");
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		char out[URL_IPV6_IPV4_SIZE] = "untouched";
		assert_false(url_ipv6_is_ipv4(others[i], strlen(others[i]), out));
		assert_string_equal(out, "untouched");
	}
	char out[URL_IPV6_IPV4_SIZE] = "";
	assert_true(url_ipv6_is_ipv4("[::ffff:ffff:ffff]", strlen("[::ffff:ffff:ffff]"), out));
	assert_string_equal(out, "255.255.255.255");
}

TEST_CASE(rejects_what_is_no_address_in_brackets)
{
	static const struct {
		const char *text;
		size_t len;
	} wrong[] = {
		{ "", 0 },
		{ "[", 1 },
		{ "]", 1 },
		{ "[]", 2 },
		{ "::1", 3 },
		{ "[::1", 4 },
		{ "::1]", 4 },
		{ "[::1]x", 6 },
		{ "[::1\0]", 6 },
		{ "[::1\0"
		  "9]",
		  7 },
		{ "[fe80::1%1]", 11 },
		{ "[1.2.3.4]", 9 },
		{ "[:::1]", 6 },
		{ "[12345::]", 9 },
		{ "[0000000000000000000000000000000000000000000000000001::]", 56 },
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char out[URL_IPV6_SIZE] = "untouched";
		if (url_ipv6_normalise(wrong[i].text, wrong[i].len, out))
			fail_msg("%s was taken", wrong[i].text);
		assert_string_equal(out, "untouched");
	}
}

TEST_MAIN()
