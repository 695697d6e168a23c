#include <stdint.h>

#include "lib/base/array.h"
#include "lib/base/number.h"
#include "tests/support/test.h"

static int64_t parse(const char *text)
{
	int64_t number = -99;
	assert_int_equal(number_parse(text, INT64_MIN, INT64_MAX, &number), OK);
	return number;
}

TEST_CASE(parses_whole_numbers)
{
	assert_int_equal(parse("0"), 0);
	assert_int_equal(parse("-0"), 0);
	assert_int_equal(parse("42"), 42);
	assert_int_equal(parse("-17"), -17);
	assert_int_equal(parse("007"), 7);
}

TEST_CASE(parses_the_smallest_and_the_largest_number)
{
	assert_true(parse("9223372036854775807") == INT64_MAX);
	assert_true(parse("-9223372036854775808") == INT64_MIN);
}

TEST_CASE(refuses_text_that_is_not_a_number)
{
	static const char *const invalid[] = { "",     "-",   "+1",  " 1",  "1 ",      "1x",
		                               "0x10", "1.0", "--1", "1e3", "\xd9\xa1" };
	for (size_t i = 0; i < ARRAY_SIZE(invalid); i++) {
		int64_t number = -99;
		assert_int_equal(number_parse(invalid[i], INT64_MIN, INT64_MAX, &number),
		                 ERR_INVALID);
		assert_int_equal(number, -99);
	}
}

TEST_CASE(refuses_numbers_out_of_bounds)
{
	static const char *const invalid[] = { "9223372036854775808", "-9223372036854775809",
		                               "18446744073709551617",
		                               "99999999999999999999999999999999" };
	int64_t number = -99;
	for (size_t i = 0; i < ARRAY_SIZE(invalid); i++)
		assert_int_equal(number_parse(invalid[i], INT64_MIN, INT64_MAX, &number),
		                 ERR_LIMIT);
	assert_int_equal(number_parse("11", 1, 10, &number), ERR_LIMIT);
	assert_int_equal(number_parse("0", 1, 10, &number), ERR_LIMIT);
	assert_int_equal(number, -99);
	assert_int_equal(number_parse("1", 1, 10, &number), OK);
	assert_int_equal(number_parse("10", 1, 10, &number), OK);
}

TEST_CASE(a_huge_number_followed_by_a_letter_is_invalid)
{
	int64_t number;
	assert_int_equal(number_parse("99999999999999999999999x", INT64_MIN, INT64_MAX, &number),
	                 ERR_INVALID);
}

TEST_CASE(writes_the_shortest_text_that_parses_back_to_the_same_number)
{
	char text[NUMBER_TEXT_SIZE];
	number_format(0.1, text);
	assert_string_equal(text, "0.1");
	number_format(0.0005, text);
	assert_string_equal(text, "0.0005");
	number_format(1.0 / 3, text);
	assert_string_equal(text, "0.3333333333333333");
	number_format(-1.7976931348623157e308, text);
	assert_string_equal(text, "-1.7976931348623157e+308");
	number_format(3, text);
	assert_string_equal(text, "3");
}

TEST_MAIN()
