#include <stdint.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/utf8.h"
#include "tests/support/test.h"

struct sample {
	const char *bytes;
	size_t len;
};
#define SAMPLE(text)                                                                               \
	{                                                                                          \
		(text), sizeof(text) - 1                                                           \
	}

TEST_CASE(accepts_the_edges_of_every_length)
{
	static const struct sample valid[] = {
		SAMPLE(""),
		SAMPLE("\x01"),
		SAMPLE("\x7f"),
		SAMPLE("\xc2\x80"),
		SAMPLE("\xdf\xbf"),
		SAMPLE("\xe0\xa0\x80"),
		SAMPLE("\xed\x9f\xbf"),
		SAMPLE("\xee\x80\x80"),
		SAMPLE("\xef\xbf\xbf"),
		SAMPLE("\xf0\x90\x80\x80"),
		SAMPLE("\xf4\x8f\xbf\xbf"),
		SAMPLE("Gr\xc3\xbc\xc3\x9f Gott \xf0\x9f\x98\x80"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(valid); i++)
		assert_true(utf8_is_valid(valid[i].bytes, valid[i].len));
}

TEST_CASE(refuses_malformed_sequences_and_nul)
{
	static const struct sample wrong[] = {
		SAMPLE("\0"),               /* NUL */
		SAMPLE("a\0b"),             /* NUL inside */
		SAMPLE("\x80"),             /* continuation first */
		SAMPLE("\xbf"),             /* continuation first */
		SAMPLE("\xc0\x80"),         /* NUL, overlong */
		SAMPLE("\xc1\xbf"),         /* overlong */
		SAMPLE("\xc2"),             /* cut off */
		SAMPLE("\xc2\x7f"),         /* no continuation */
		SAMPLE("\xc2\xc0"),         /* no continuation */
		SAMPLE("\xe0\x9f\xbf"),     /* overlong */
		SAMPLE("\xe2\x82"),         /* cut off */
		SAMPLE("\xe2\x28\xa1"),     /* invalid second byte */
		SAMPLE("\xe2\x82\x28"),     /* invalid third byte */
		SAMPLE("\xed\xa0\x80"),     /* surrogate */
		SAMPLE("\xed\xbf\xbf"),     /* surrogate */
		SAMPLE("\xf0\x8f\xbf\xbf"), /* overlong */
		SAMPLE("\xf0\x9f\x98"),     /* cut off */
		SAMPLE("\xf0\x9f\x98\x28"), /* invalid fourth byte */
		SAMPLE("\xf4\x90\x80\x80"), /* above U+10FFFF */
		SAMPLE("\xf5\x80\x80\x80"), /* above U+10FFFF */
		SAMPLE("\xfe"),
		SAMPLE("\xff"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		if (utf8_is_valid(wrong[i].bytes, wrong[i].len))
			fail_msg("wrong sample %zu was accepted", i);
}

TEST_CASE(refuses_a_bad_byte_at_every_place)
{
	static const char bad[] = { '\0', '\x80', '\xc3', '\xff' };
	for (size_t len = 1; len <= 40; len++) {
		char text[40];
		memset(text, 'a', sizeof(text));
		assert_true(utf8_is_valid(text, len));
		for (size_t at = 0; at < len; at++) {
			for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
				text[at] = bad[i];
				if (utf8_is_valid(text, len))
					fail_msg("byte %zu of %zu: %#x was accepted", at, len,
					         (unsigned char)bad[i]);
			}
			text[at] = 'a';
		}
	}
}

TEST_CASE(measures_the_next_character)
{
	assert_int_equal(utf8_next("a\xc3\xbc", 3), 1);
	assert_int_equal(utf8_next("\xc3\xbc", 2), 2);
	assert_int_equal(utf8_next("\xe2\x82\xac", 3), 3);
	assert_int_equal(utf8_next("\xf0\x9f\x98\x80", 4), 4);
	assert_int_equal(utf8_next("\xf0\x9f\x98\x80", 3), 0);
	assert_int_equal(utf8_next("", 0), 0);
	assert_int_equal(utf8_next("\0", 1), 0);
}

TEST_CASE(counts_characters_and_not_bytes)
{
	assert_int_equal(utf8_length("", 0), 0);
	assert_int_equal(utf8_length("abc", 3), 3);
	assert_int_equal(utf8_length("\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80", 9), 3);
}

TEST_CASE(never_cuts_a_character)
{
	static const char text[] = "a\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80";
	static const size_t expected[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10 };
	for (size_t max = 0; max < ARRAY_SIZE(expected); max++)
		assert_int_equal(utf8_prefix(text, strlen(text), max), expected[max]);
}

static void assert_clean(struct sample in, size_t size, const char *expected)
{
	char out[64];
	memset(out, 'z', sizeof(out));
	size_t len = utf8_copy_clean(in.bytes, in.len, out, size);
	assert_string_equal(out, expected);
	assert_int_equal(len, strlen(expected));
	assert_true(len < size);
	/* Nothing was written past the buffer. */
	for (size_t i = size; i < sizeof(out); i++)
		assert_int_equal(out[i], 'z');
}

TEST_CASE(replaces_each_malformed_byte)
{
	assert_clean((struct sample)SAMPLE("a\xff\xfe"
	                                   "b"),
	             64, "a??b");
	assert_clean((struct sample)SAMPLE("\xe2\x82"), 64, "??");
	assert_clean((struct sample)SAMPLE("\xed\xa0\x80"), 64, "???");
	assert_clean((struct sample)SAMPLE("a\0b"), 64, "a?b");
}

TEST_CASE(replaces_control_characters_once_each)
{
	assert_clean((struct sample)SAMPLE("a\r\nb\tc\x1b[31m\x7f"), 64, "a??b?c?[31m?");
	/* U+0085 and U+009B are two-byte control characters; U+00A0 is not. */
	assert_clean((struct sample)SAMPLE("\xc2\x85\xc2\x9b\xc2\xa0"), 64, "??\xc2\xa0");
}

TEST_CASE(cuts_copies_at_a_character)
{
	assert_clean((struct sample)SAMPLE("ab\xe2\x82\xac"), 6, "ab\xe2\x82\xac");
	assert_clean((struct sample)SAMPLE("ab\xe2\x82\xac"), 5, "ab");
	assert_clean((struct sample)SAMPLE("abc"), 1, "");
	assert_clean((struct sample)SAMPLE(""), 1, "");
}

TEST_CASE(the_printable_prefix_ends_before_the_first_other_byte)
{
	for (unsigned byte = 0; byte < 256; byte++) {
		for (size_t at = 0; at < 24; at++) {
			char text[24];
			memset(text, at % 2 ? ' ' : '~', sizeof(text));
			text[at] = (char)byte;
			bool is_printable = byte >= ' ' && byte <= '~';
			assert_int_equal(utf8_printable_prefix(text, sizeof(text)),
			                 is_printable ? sizeof(text) : at);
		}
	}
}

TEST_MAIN()
