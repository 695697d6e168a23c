#include <stdint.h>
#include <string.h>

#include "lib/base/entropy.h"
#include "tests/support/test.h"

TEST_CASE(fills_every_byte_of_large_buffers)
{
	static uint8_t bytes[1000000];
	size_t seen[256] = { 0 };
	entropy_fill(bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		seen[bytes[i]]++;
	/* 3,906 expected of each; 62 is one standard deviation. */
	for (size_t value = 0; value < 256; value++)
		assert_in_range(seen[value], 3906 - 10 * 62, 3906 + 10 * 62);
}

TEST_CASE(stays_below_its_bound)
{
	assert_int_equal(entropy_below(1), 0);
	for (int i = 0; i < 1000; i++) {
		assert_true(entropy_below(3) < 3);
		assert_true(entropy_below(UINT32_MAX) < UINT32_MAX);
	}
}

/* With a plain modulo, two thirds of the draws would fall into the lower half of this range. */
TEST_CASE(draws_evenly_where_a_plain_modulo_would_not)
{
	const uint32_t n = UINT32_C(3) << 30;
	const int draws = 60000;
	int low = 0;
	for (int i = 0; i < draws; i++)
		if (entropy_below(n) < n / 2)
			low++;
	/* 30,000 expected, 122 is one standard deviation. */
	assert_in_range(low, 30000 - 10 * 122, 30000 + 10 * 122);
}

TEST_CASE(draws_text_evenly_and_only_from_its_alphabet)
{
	static const char alphabet[] =
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	static char text[620001];
	size_t seen[256] = { 0 };
	entropy_text(alphabet, text, 620000);
	assert_int_equal(strlen(text), 620000);
	for (size_t i = 0; text[i]; i++)
		seen[(uint8_t)text[i]]++;
	/*
	 * 10,000 expected; 99 is one standard deviation. A plain modulo of a byte would give 12,109
	 * to the first eight.
	 */
	for (const char *c = alphabet; *c; c++)
		assert_in_range(seen[(uint8_t)*c], 10000 - 990, 10000 + 990);
}

TEST_CASE(can_write_an_empty_text_and_a_text_of_one_letter)
{
	char text[5] = "full";
	entropy_text("abc", text, 0);
	assert_string_equal(text, "");
	entropy_text("a", text, 4);
	assert_string_equal(text, "aaaa");
}

TEST_CASE(uuid_7_contains_time_and_version)
{
	uint8_t uuid[ENTROPY_UUID_SIZE];
	char text[ENTROPY_UUID_TEXT_SIZE];
	/* The example of RFC 9562, appendix A.6: 2022-02-22T19:22:22Z. */
	entropy_uuid7(INT64_C(0x17F22E279B0) * 1000, uuid);
	entropy_uuid_format(uuid, text);
	text[19] = 'v';
	assert_memory_equal(text, "017f22e2-79b0-7000-v", 20);
	assert_int_equal(uuid[8] & 0xc0, 0x80);
}

TEST_CASE(uuids_7_sort_by_microsecond)
{
	uint8_t last[ENTROPY_UUID_SIZE] = { 0 };
	uint8_t next[ENTROPY_UUID_SIZE];
	for (int64_t us = INT64_C(1795132800000000) - 1500; us < INT64_C(1795132800000000) + 1500;
	     us++) {
		entropy_uuid7(us, next);
		assert_true(memcmp(last, next, sizeof(next)) < 0);
		memcpy(last, next, sizeof(next));
	}
}

TEST_CASE(never_repeats_a_uuid_within_one_microsecond)
{
	uint8_t a[ENTROPY_UUID_SIZE], b[ENTROPY_UUID_SIZE];
	entropy_uuid7(1000, a);
	entropy_uuid7(1000, b);
	assert_memory_not_equal(a, b, sizeof(a));
}

TEST_CASE(makes_uuids_7_from_a_pool_that_is_refilled)
{
	enum { IDS = 1000 };
	static uint8_t ids[IDS][ENTROPY_UUID_SIZE];
	struct entropy_pool pool = { 0 };
	for (size_t i = 0; i < IDS; i++) {
		entropy_pool_uuid7(&pool, INT64_C(0x17F22E279B0) * 1000, ids[i]);
		assert_memory_equal(
			ids[i], ((const uint8_t[]){ 0x01, 0x7f, 0x22, 0xe2, 0x79, 0xb0, 0x70 }), 7);
		assert_int_equal(ids[i][8] & 0xc0, 0x80);
		for (size_t earlier = 0; earlier < i; earlier++)
			assert_memory_not_equal(ids[i], ids[earlier], ENTROPY_UUID_SIZE);
	}
}

TEST_CASE(treats_times_before_1970_as_1970)
{
	uint8_t uuid[ENTROPY_UUID_SIZE];
	entropy_uuid7(-5, uuid);
	assert_memory_equal(uuid, ((const uint8_t[]){ 0, 0, 0, 0, 0, 0, 0x70, 0 }), 8);
}

TEST_CASE(marks_random_uuids_as_version_4)
{
	uint8_t uuid[ENTROPY_UUID_SIZE];
	for (int i = 0; i < 100; i++) {
		entropy_uuid4(uuid);
		assert_int_equal(uuid[6] >> 4, 4);
		assert_int_equal(uuid[8] & 0xc0, 0x80);
	}
}

TEST_CASE(formats_uuids_in_five_groups)
{
	const uint8_t uuid[ENTROPY_UUID_SIZE] = { 0x01, 0x90, 0xf0, 0xc6, 0x7c, 0x3e, 0x70, 0x00,
		                                  0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0a };
	char text[ENTROPY_UUID_TEXT_SIZE];
	entropy_uuid_format(uuid, text);
	assert_string_equal(text, "0190f0c6-7c3e-7000-8000-00000000000a");
}

TEST_MAIN()
