#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/strbuf.h"
#include "tests/support/test.h"

TEST_CASE(is_empty_at_first)
{
	struct strbuf b;
	strbuf_init(&b, 10);
	assert_string_equal(b.data, "");
	assert_int_equal(b.len, 0);
	assert_int_equal(strbuf_status(&b), OK);
	strbuf_clear(&b);
}

TEST_CASE(appends_bytes_texts_characters_and_formats)
{
	struct strbuf b;
	strbuf_init(&b, 1000);
	strbuf_add(&b, "a\0b", 3);
	strbuf_add_text(&b, "cd");
	strbuf_add_char(&b, 'e');
	strbuf_add_format(&b, "%d-%s", 42, "f");
	assert_int_equal(b.len, 10);
	assert_memory_equal(b.data, "a\0bcde42-f", 11);
	strbuf_clear(&b);
}

TEST_CASE(grows_up_to_its_limit_and_no_further)
{
	struct strbuf b;
	strbuf_init(&b, 1000);
	for (int i = 0; i < 1000; i++)
		strbuf_add_char(&b, 'x');
	assert_int_equal(b.len, 1000);
	assert_int_equal(strlen(b.data), 1000);
	assert_int_equal(strbuf_status(&b), OK);
	strbuf_add_char(&b, 'x');
	assert_int_equal(b.len, 1000);
	assert_int_equal(strbuf_status(&b), ERR_LIMIT);
	assert_true(b.capacity <= 1001);
	strbuf_clear(&b);
}

TEST_CASE(adds_nothing_of_an_append_that_passes_the_limit)
{
	struct strbuf b;
	strbuf_init(&b, 5);
	strbuf_add_text(&b, "abc");
	strbuf_add_text(&b, "def");
	assert_string_equal(b.data, "abc");
	strbuf_add_format(&b, "%s", "xyz");
	assert_string_equal(b.data, "abc");
	assert_int_equal(b.len, 3);
	strbuf_clear(&b);
}

TEST_CASE(remembers_an_overflow_even_if_a_later_append_fits)
{
	struct strbuf b;
	strbuf_init(&b, 3);
	strbuf_add_text(&b, "abcd");
	strbuf_add_text(&b, "abc");
	assert_string_equal(b.data, "abc");
	assert_int_equal(strbuf_status(&b), ERR_LIMIT);
	strbuf_clear(&b);
}

TEST_CASE(reset_forgets_bytes_and_overflow)
{
	struct strbuf b;
	strbuf_init(&b, 3);
	strbuf_add_text(&b, "abc");
	strbuf_add_text(&b, "d");
	strbuf_reset(&b);
	assert_string_equal(b.data, "");
	assert_int_equal(strbuf_status(&b), OK);
	strbuf_add_text(&b, "xyz");
	assert_string_equal(b.data, "xyz");
	strbuf_clear(&b);
}

TEST_CASE(formats_more_than_its_current_capacity)
{
	struct strbuf b;
	strbuf_init(&b, 10000);
	strbuf_add_text(&b, "start ");
	strbuf_add_format(&b, "%05000d end", 7);
	assert_int_equal(b.len, 6 + 5000 + 4);
	assert_string_equal(b.data + b.len - 6, "07 end");
	strbuf_clear(&b);
}

TEST_CASE(formats_what_just_fits_its_capacity_and_what_just_does_not)
{
	for (int len = 50; len < 80; len++) {
		struct strbuf b;
		strbuf_init(&b, 1000);
		strbuf_add_format(&b, "%0*d", len, 7);
		assert_int_equal(b.len, len);
		assert_int_equal(strlen(b.data), len);
		assert_int_equal(b.data[len - 1], '7');
		strbuf_clear(&b);
	}
}

TEST_CASE(predicts_the_capacity_after_an_append)
{
	static const char bytes[1000];
	static const size_t lengths[] = { 0, 1, 62, 1, 1, 500, 1000, 435, 1 };
	struct strbuf b;
	strbuf_init(&b, 2000);
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		size_t room = strbuf_capacity_after(&b, lengths[i]);
		strbuf_add(&b, bytes, lengths[i]);
		assert_int_equal(b.capacity, room);
	}
	assert_int_equal(b.len, 2000);
	assert_int_equal(b.capacity, 2001);
	assert_int_equal(strbuf_status(&b), ERR_LIMIT);
	strbuf_clear(&b);
}

TEST_CASE(holds_nothing_with_a_limit_of_zero)
{
	struct strbuf b;
	strbuf_init(&b, 0);
	strbuf_add(&b, "", 0);
	assert_int_equal(strbuf_status(&b), OK);
	strbuf_add_char(&b, 'a');
	assert_string_equal(b.data, "");
	assert_int_equal(strbuf_status(&b), ERR_LIMIT);
	strbuf_clear(&b);
}

TEST_CASE(has_no_integer_overflow_at_the_highest_limit)
{
	struct strbuf b;
	strbuf_init(&b, SIZE_MAX);
	strbuf_add_text(&b, "abc");
	strbuf_add(&b, "x", SIZE_MAX - 1);
	assert_string_equal(b.data, "abc");
	assert_int_equal(strbuf_status(&b), ERR_LIMIT);
	strbuf_clear(&b);
}

TEST_CASE(take_moves_the_bytes_out_and_leaves_an_empty_buffer)
{
	struct strbuf b;
	size_t len = 0;
	strbuf_init(&b, 100);
	strbuf_add_text(&b, "moved");
	char *taken = strbuf_take(&b, &len);
	assert_string_equal(taken, "moved");
	assert_int_equal(len, 5);
	assert_string_equal(b.data, "");
	assert_int_equal(b.limit, 100);
	strbuf_add_text(&b, "more");
	assert_string_equal(taken, "moved");
	free(taken);
	free(strbuf_take(&b, NULL));
	strbuf_clear(&b);
}

TEST_MAIN()
