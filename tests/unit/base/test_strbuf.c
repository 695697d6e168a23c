#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/strbuf.h"
#include "tests/support/test.h"

static void is_empty_at_first(void **state)
{
	(void)state;
	struct strbuf b;
	strbuf_init(&b, 10);
	assert_string_equal(b.data, "");
	assert_int_equal(b.len, 0);
	assert_int_equal(strbuf_status(&b), OK);
	strbuf_clear(&b);
}

static void appends_bytes_texts_characters_and_formats(void **state)
{
	(void)state;
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

static void grows_up_to_its_limit_and_no_further(void **state)
{
	(void)state;
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

static void adds_nothing_of_an_append_that_passes_the_limit(void **state)
{
	(void)state;
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

static void remembers_an_overflow_even_if_a_later_append_fits(void **state)
{
	(void)state;
	struct strbuf b;
	strbuf_init(&b, 3);
	strbuf_add_text(&b, "abcd");
	strbuf_add_text(&b, "abc");
	assert_string_equal(b.data, "abc");
	assert_int_equal(strbuf_status(&b), ERR_LIMIT);
	strbuf_clear(&b);
}

static void reset_forgets_bytes_and_overflow(void **state)
{
	(void)state;
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

static void formats_more_than_its_current_capacity(void **state)
{
	(void)state;
	struct strbuf b;
	strbuf_init(&b, 10000);
	strbuf_add_text(&b, "start ");
	strbuf_add_format(&b, "%05000d end", 7);
	assert_int_equal(b.len, 6 + 5000 + 4);
	assert_string_equal(b.data + b.len - 6, "07 end");
	strbuf_clear(&b);
}

static void formats_what_just_fits_its_capacity_and_what_just_does_not(void **state)
{
	(void)state;
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

static void predicts_the_capacity_after_an_append(void **state)
{
	(void)state;
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

static void holds_nothing_with_a_limit_of_zero(void **state)
{
	(void)state;
	struct strbuf b;
	strbuf_init(&b, 0);
	strbuf_add(&b, "", 0);
	assert_int_equal(strbuf_status(&b), OK);
	strbuf_add_char(&b, 'a');
	assert_string_equal(b.data, "");
	assert_int_equal(strbuf_status(&b), ERR_LIMIT);
	strbuf_clear(&b);
}

static void has_no_integer_overflow_at_the_highest_limit(void **state)
{
	(void)state;
	struct strbuf b;
	strbuf_init(&b, SIZE_MAX);
	strbuf_add_text(&b, "abc");
	strbuf_add(&b, "x", SIZE_MAX - 1);
	assert_string_equal(b.data, "abc");
	assert_int_equal(strbuf_status(&b), ERR_LIMIT);
	strbuf_clear(&b);
}

static void take_moves_the_bytes_out_and_leaves_an_empty_buffer(void **state)
{
	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_empty_at_first),
		cmocka_unit_test(appends_bytes_texts_characters_and_formats),
		cmocka_unit_test(grows_up_to_its_limit_and_no_further),
		cmocka_unit_test(adds_nothing_of_an_append_that_passes_the_limit),
		cmocka_unit_test(remembers_an_overflow_even_if_a_later_append_fits),
		cmocka_unit_test(reset_forgets_bytes_and_overflow),
		cmocka_unit_test(formats_more_than_its_current_capacity),
		cmocka_unit_test(formats_what_just_fits_its_capacity_and_what_just_does_not),
		cmocka_unit_test(predicts_the_capacity_after_an_append),
		cmocka_unit_test(holds_nothing_with_a_limit_of_zero),
		cmocka_unit_test(has_no_integer_overflow_at_the_highest_limit),
		cmocka_unit_test(take_moves_the_bytes_out_and_leaves_an_empty_buffer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
