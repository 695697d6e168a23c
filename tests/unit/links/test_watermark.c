#include <stdint.h>
#include <string.h>

#include "lib/links/watermark.h"
#include "tests/support/test.h"

static uint8_t bytes[WATERMARK_BYTES_MAX];
static struct watermark read_back;

static struct watermark sample(void)
{
	return (struct watermark){
		.as_of_us = INT64_C(1700000000000001),
		.generation = 7,
		.partitions = 2,
		.partition = { { .end = 12, .lowest_end = 9 }, { 0 } },
	};
}

TEST_CASE(is_read_as_it_was_written)
{
	const struct watermark written = sample();
	size_t len = watermark_encode(&written, bytes);
	assert_int_equal(watermark_decode(bytes, len, &read_back), OK);
	assert_memory_equal(&read_back, &written, sizeof(written));
}

TEST_CASE(the_largest_one_fits)
{
	struct watermark largest = { .as_of_us = INT64_MAX,
		                     .generation = INT64_MAX,
		                     .partitions = WATERMARK_PARTITIONS_MAX };
	for (int p = 0; p < WATERMARK_PARTITIONS_MAX; p++)
		largest.partition[p] = (struct watermark_partition){ INT64_MAX, INT64_MAX };
	size_t len = watermark_encode(&largest, bytes);
	assert_in_range(len, 1, WATERMARK_BYTES_MAX);
	assert_int_equal(watermark_decode(bytes, len, &read_back), OK);
	assert_int_equal(read_back.partitions, WATERMARK_PARTITIONS_MAX);
}

static void assert_refused(struct watermark watermark)
{
	size_t len = watermark_encode(&watermark, bytes);
	assert_int_equal(watermark_decode(bytes, len, &read_back), ERR_INVALID);
}

TEST_CASE(refuses_impossible_values)
{
	struct watermark watermark = sample();
	watermark.as_of_us = 0;
	assert_refused(watermark);
	watermark = sample();
	watermark.generation = -1;
	assert_refused(watermark);
	watermark = sample();
	watermark.partitions = 0;
	assert_refused(watermark);
	watermark = sample();
	watermark.partition[0].end = 8;
	assert_refused(watermark);
	watermark = sample();
	watermark.partition[1].lowest_end = -1;
	assert_refused(watermark);
	assert_int_equal(watermark_decode(NULL, 0, &read_back), ERR_INVALID);
	assert_int_equal(watermark_decode("~", 1, &read_back), ERR_INVALID);
}

TEST_MAIN()
