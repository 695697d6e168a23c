#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/timestamp.h"
#include "tests/support/test.h"

#define NOON_US INT64_C(1795176000123456) /* 2026-11-20T12:00:00.123456Z */

static int64_t parse(const char *text)
{
	int64_t time_us = -1;
	if (timestamp_parse(text, &time_us) != OK)
		fail_msg("%s was refused", text);
	return time_us;
}

static void assert_refused(const char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int64_t time_us = -77;
		if (timestamp_parse(texts[i], &time_us) != ERR_INVALID)
			fail_msg("\"%s\" was accepted", texts[i]);
		assert_int_equal(time_us, -77);
	}
}

#define ASSERT_REFUSED(...)                                                                        \
	do {                                                                                       \
		static const char *const texts[] = { __VA_ARGS__ };                                \
		assert_refused(texts, ARRAY_SIZE(texts));                                          \
	} while (0)

TEST_CASE(truncates_to_milliseconds)
{
	char text[TIMESTAMP_TEXT_SIZE];
	timestamp_format_ms(NOON_US + 543, text);
	assert_string_equal(text, "2026-11-20T12:00:00.123Z");
	timestamp_format_ms(0, text);
	assert_string_equal(text, "1970-01-01T00:00:00.000Z");
}

TEST_CASE(formats_microseconds_exactly)
{
	char text[TIMESTAMP_TEXT_SIZE];
	timestamp_format_us(NOON_US, text);
	assert_string_equal(text, "2026-11-20T12:00:00.123456Z");
	timestamp_format_us(-1, text);
	assert_string_equal(text, "1969-12-31T23:59:59.999999Z");
}

TEST_CASE(formats_the_most_distant_times_within_its_buffer)
{
	char text[TIMESTAMP_TEXT_SIZE];
	timestamp_format_us(INT64_MAX, text);
	assert_string_equal(text, "294247-01-10T04:00:54.775807Z");
	timestamp_format_us(INT64_MIN, text);
	assert_string_equal(text, "-290308-12-21T19:59:05.224192Z");
}

TEST_CASE(formats_days)
{
	char text[TIMESTAMP_TEXT_SIZE];
	timestamp_format_day(0, text);
	assert_string_equal(text, "1970-01-01");
	timestamp_format_day(20777, text);
	assert_string_equal(text, "2026-11-20");
	timestamp_format_day(-1, text);
	assert_string_equal(text, "1969-12-31");
	timestamp_format_day(11016, text);
	assert_string_equal(text, "2000-02-29");
}

TEST_CASE(parses_its_own_output_on_every_day_of_400_years)
{
	char text[TIMESTAMP_TEXT_SIZE], again[TIMESTAMP_TEXT_SIZE];
	const int64_t us_per_day = INT64_C(86400000000);
	char last[TIMESTAMP_TEXT_SIZE] = "";
	for (int64_t day = 0; day < 146097; day++) {
		timestamp_format_us(day * us_per_day + day, text);
		assert_int_equal(parse(text), day * us_per_day + day);
		assert_true(strcmp(last, text) < 0);
		memcpy(last, text, sizeof(last));
		timestamp_format_day((int32_t)day, again);
		assert_memory_equal(again, text, 10);
	}
}

TEST_CASE(parses_fractions_of_any_length_and_truncates_them)
{
	const int64_t noon = NOON_US / 1000000 * 1000000;
	assert_int_equal(parse("2026-11-20T12:00:00Z"), noon);
	assert_int_equal(parse("2026-11-20T12:00:00.1Z"), noon + 100000);
	assert_int_equal(parse("2026-11-20T12:00:00.000001Z"), noon + 1);
	assert_int_equal(parse("2026-11-20T12:00:00.123456999Z"), noon + 123456);
	ASSERT_REFUSED("2026-11-20T12:00:00.Z", "2026-11-20T12:00:00.1234567890Z",
	               "2026-11-20T12:00:00,1Z");
}

TEST_CASE(parses_any_offset)
{
	assert_int_equal(parse("2026-11-20T13:30:00.123456+01:30"), NOON_US);
	assert_int_equal(parse("2026-11-19T12:01:00.123456-23:59"), NOON_US);
	assert_int_equal(parse("2026-11-20T12:00:00.123456+00:00"), NOON_US);
	assert_int_equal(parse("2026-11-20T12:00:00.123456-00:00"), NOON_US);
	ASSERT_REFUSED("2026-11-20T12:00:00", "2026-11-20T12:00:00+1:00",
	               "2026-11-20T12:00:00+0100", "2026-11-20T12:00:00+24:00",
	               "2026-11-20T12:00:00+01:60", "2026-11-20T12:00:00 +01:00");
}

TEST_CASE(parses_lower_case_letters)
{
	assert_int_equal(parse("2026-11-20t12:00:00.123456z"), NOON_US);
}

TEST_CASE(knows_leap_years)
{
	assert_int_equal(parse("2024-02-29T00:00:00Z"), INT64_C(1709164800000000));
	assert_int_equal(parse("2000-02-29T00:00:00Z"), INT64_C(951782400000000));
	ASSERT_REFUSED("2026-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2024-02-30T00:00:00Z");
}

TEST_CASE(refuses_dates_and_times_that_do_not_exist)
{
	ASSERT_REFUSED("2026-00-20T12:00:00Z", "2026-13-20T12:00:00Z", "2026-11-00T12:00:00Z",
	               "2026-11-31T12:00:00Z", "2026-11-20T24:00:00Z", "2026-11-20T12:60:00Z");
}

TEST_CASE(refuses_a_leap_second)
{
	ASSERT_REFUSED("2016-12-31T23:59:60Z");
}

TEST_CASE(refuses_years_outside_1970_to_9999)
{
	assert_int_equal(parse("1970-01-01T00:00:00Z"), 0);
	assert_int_equal(parse("9999-12-31T23:59:59.999999Z"), INT64_C(253402300799999999));
	ASSERT_REFUSED("1969-12-31T23:59:59Z", "0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z",
	               "1970-01-01T00:59:59+01:00", "9999-12-31T23:59:59-00:01");
}

TEST_CASE(refuses_leading_and_trailing_bytes)
{
	ASSERT_REFUSED("2026-11-20T12:00:00Z ", " 2026-11-20T12:00:00Z", "2026-11-20T12:00:00Zx",
	               "2026-11-20T12:00:00+01:00Z");
}

TEST_CASE(refuses_other_formats)
{
	ASSERT_REFUSED("", "2026-11-20", "2026-11-20 12:00:00Z", "20261120T120000Z",
	               "2026-11-20T12:00Z", "2026-1-20T12:00:00Z", "26-11-20T12:00:00Z",
	               "+026-11-20T12:00:00Z", "2026/11/20T12:00:00Z", "1795176000");
}

TEST_CASE(refuses_every_prefix_of_a_valid_text)
{
	static const char whole[] = "2026-11-20T12:00:00.123+01:00";
	for (size_t len = 0; len < strlen(whole); len++) {
		char cut[sizeof(whole)] = { 0 };
		memcpy(cut, whole, len);
		int64_t time_us;
		assert_int_equal(timestamp_parse(cut, &time_us), ERR_INVALID);
	}
}

TEST_MAIN()
