#include <stdint.h>
#include <string.h>

#include "lib/http/http_guard.h"
#include "tests/support/test.h"

/* Compares the table with the lists in RFC 9110 and RFC 9112. */
TEST_CASE(classifies_every_byte)
{
	static const char token[] =
		"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	for (unsigned i = 0; i < 256; i++) {
		char c = (char)i;
		bool in_token = i != 0 && strchr(token, c) != NULL;
		bool in_value = i == '\t' || (i >= 0x20 && i != 0x7f);
		bool in_target = i > 0x20 && i != 0x7f;
		if (http_guard_is_token(&c, 1) != in_token ||
		    http_guard_is_value(&c, 1) != in_value ||
		    http_guard_is_target(&c, 1) != in_target)
			fail_msg("byte 0x%02x", i);
	}
}

TEST_CASE(checks_each_byte)
{
	assert_false(http_guard_is_token("", 0));
	assert_true(http_guard_is_value("", 0));
	assert_true(http_guard_is_token("Content-Length", 14));
	assert_false(http_guard_is_token("Content-Length ", 15));
	assert_false(http_guard_is_value("a\0", 2));
	assert_false(http_guard_is_target("/a b", 4));
}

TEST_MAIN()
