#include <string.h>

#include "lib/base/base64.h"
#include "tests/support/test.h"

static void assert_decodes(const char *text, const char *bytes, size_t len)
{
	char out[16];
	size_t decoded = 99;
	assert_int_equal(base64_decode(text, out, sizeof(out), &decoded), OK);
	assert_int_equal(decoded, len);
	assert_memory_equal(out, bytes, len);
}

TEST_CASE(decodes_all_bytes_with_and_without_padding)
{
	assert_decodes("", "", 0);
	assert_decodes("Zg==", "f", 1);
	assert_decodes("Zg", "f", 1);
	assert_decodes("Zm8=", "fo", 2);
	assert_decodes("Zm9v", "foo", 3);
	assert_decodes("AP/+gA==", "\0\xff\xfe\x80", 4);
}

TEST_CASE(refuses_other_characters_and_what_does_not_fit)
{
	char out[3];
	size_t len = 99;
	static const char *const wrong[] = {
		"Zm9*", "Zm 9", "Zm9-", "Zg==Zg==", "=Zg", "\xc3\xbc"
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(base64_decode(wrong[i], out, sizeof(out), &len), ERR_INVALID);
	assert_int_equal(base64_decode("Zm9vYg==", out, sizeof(out), &len), ERR_LIMIT);
	assert_int_equal(len, 99);
}

TEST_MAIN()
