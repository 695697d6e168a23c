#include <stdint.h>

#include "services/links-api/outbox/outbox_publisher.h"
#include "tests/support/test.h"

static struct outbox_publisher_ends ends;
static struct watermark mark;

static int set_up(void **state)
{
	(void)state;
	outbox_publisher_ends_reset(&ends);
	outbox_publisher_ends_set(&ends, (const int64_t[]){ 10, 0 }, 2);
	return 0;
}

static void assert_next(int32_t partition, int64_t end, int64_t lowest_end)
{
	outbox_publisher_ends_take(&ends, &mark);
	assert_int_equal(mark.partitions, 2);
	assert_int_equal(mark.partition[partition].end, end);
	assert_int_equal(mark.partition[partition].lowest_end, lowest_end);
}

TEST_CASE(are_unknown_until_the_brokers_have_answered)
{
	outbox_publisher_ends_reset(&ends);
	outbox_publisher_ends_add(&ends, 0, 3);
	assert_false(ends.are_known);
	outbox_publisher_ends_set(&ends, (const int64_t[]){ 4, 0 }, 2);
	assert_true(ends.are_known);
	assert_next(0, 4, 4);
}

TEST_CASE(acks_move_the_end_of_their_partition)
{
	outbox_publisher_ends_add(&ends, 0, 10);
	outbox_publisher_ends_add(&ends, 0,
	                          12); /* a late record of an earlier relay stands between */
	assert_true(ends.are_known);
	assert_next(0, 13, 10);
	assert_next(1, 0, 0);
	assert_next(0, 13, 13);
}

TEST_CASE(an_ack_without_offset_or_of_a_new_partition_makes_the_ends_unknown)
{
	outbox_publisher_ends_add(&ends, 0, -1001);
	assert_false(ends.are_known);
	outbox_publisher_ends_set(&ends, (const int64_t[]){ 11, 0 }, 2);
	outbox_publisher_ends_add(&ends, 2, 0);
	assert_false(ends.are_known);
	outbox_publisher_ends_set(&ends, (const int64_t[]){ 11, 0, 1 }, 3);
	outbox_publisher_ends_take(&ends, &mark);
	assert_int_equal(mark.partitions, 3);
	assert_int_equal(mark.partition[2].lowest_end, 1);
}

TEST_CASE(a_topic_that_was_created_again_shows_in_the_lowest_end)
{
	for (int64_t offset = 0; offset < 20; offset++)
		outbox_publisher_ends_add(&ends, 0, offset);
	assert_false(ends.are_known);
	outbox_publisher_ends_set(&ends, (const int64_t[]){ 20, 0 }, 2);
	assert_next(0, 20, 0);
	assert_next(0, 20, 20);
}

TEST_CASE(a_query_that_finds_a_lower_end_shows_in_the_lowest_end)
{
	assert_next(0, 10, 10);
	outbox_publisher_ends_set(&ends, (const int64_t[]){ 1, 0 }, 2);
	outbox_publisher_ends_set(&ends, (const int64_t[]){ 15, 0 }, 2);
	assert_next(0, 15, 1);
}

TEST_CASE(an_undelivered_watermark_is_repeated_by_the_next)
{
	outbox_publisher_ends_take(&ends, &mark);
	outbox_publisher_ends_add(&ends, 0, 2);
	outbox_publisher_ends_set(&ends, (const int64_t[]){ 30, 0 }, 2);
	assert_next(0, 30, 2);
	outbox_publisher_ends_restore(&ends);
	assert_next(0, 30, 2);
	assert_next(0, 30, 30);
}

TEST_MAIN(.set_up = set_up)
