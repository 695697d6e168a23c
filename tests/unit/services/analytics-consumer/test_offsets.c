#include <stdint.h>

#include "services/analytics-consumer/storage/offsets.h"
#include "tests/support/test.h"

/* The start of a record. */
#define R(offset) offsets_position(offset, 0)

/* Partition 3 is stored up to 100 and published up to 90. Partition 1 has never been counted. */
static int set_up(void **state)
{
	static struct offsets offsets;
	const struct offsets_partition rows[] = {
		{ .partition = 3, .stored = R(100), .fingerprint = 5099, .published = R(90) },
		{ .partition = 1, .stored = 0, .published = 0 },
	};
	offsets = (struct offsets){ 0 };
	offsets_assign(&offsets, rows, 2);
	*state = &offsets;
	return 0;
}

static int tear_down(void **state)
{
	offsets_clear(*state);
	return 0;
}

static void extend_unverified(struct offsets_partition *p, int64_t offset)
{
	offsets_extend_unverified(p, offset, 0, OFFSETS_INDEXES);
}

TEST_CASE(finds_only_assigned_partitions)
{
	assert_int_equal(offsets_find(*state, 1)->partition, 1);
	assert_int_equal(offsets_find(*state, 3)->stored, R(100));
	assert_null(offsets_find(*state, 0));
	assert_null(offsets_find(*state, 2));
	offsets_clear(*state);
	assert_null(offsets_find(*state, 1));
}

TEST_CASE(does_not_advance_without_records)
{
	assert_false(offsets_any_advanced(*state));
}

TEST_CASE(advances_past_the_last_record_over_gaps)
{
	struct offsets_partition *p = offsets_find(*state, 3);
	extend_unverified(p, 100);
	extend_unverified(p, 107);
	assert_int_equal(p->next_stored, R(108));
	assert_int_equal(p->stored, R(100));
	assert_int_equal(p->first, R(100));
	assert_true(offsets_any_advanced(*state));
}

TEST_CASE(does_not_advance_over_counted_records)
{
	struct offsets_partition *p = offsets_find(*state, 3);
	assert_true(offsets_is_counted(p, R(90)));
	assert_true(offsets_is_counted(p, R(99)));
	assert_false(offsets_is_counted(p, R(100)));
	extend_unverified(p, 90);
	extend_unverified(p, 91);
	assert_int_equal(p->next_stored, R(100));
	assert_false(offsets_any_advanced(*state));
}

TEST_CASE(counts_every_record_of_a_new_partition)
{
	struct offsets_partition *p = offsets_find(*state, 1);
	assert_false(offsets_is_counted(p, R(0)));
	extend_unverified(p, 57);
	assert_true(offsets_has_advanced(p));
	assert_int_equal(p->first, R(57));
	assert_int_equal(p->next_stored, R(58));
}

TEST_CASE(takes_over_the_offsets_of_a_stored_batch)
{
	struct offsets_partition *p = offsets_find(*state, 1);
	extend_unverified(p, 57);
	p->as_of_us = 5;
	offsets_mark_stored(*state);
	offsets_mark_published(*state);
	offsets_begin_batch(*state);
	assert_int_equal(p->stored, R(58));
	assert_int_equal(p->published, R(58));
	assert_int_equal(p->next_stored, R(58));
	assert_int_equal(p->as_of_us, 0);
	assert_int_equal(p->first, -1);
	assert_int_equal(offsets_find(*state, 3)->stored, R(100));
	assert_false(offsets_any_advanced(*state));
}

static struct kafka_message message_at(int64_t offset)
{
	return (struct kafka_message){ .offset = offset, .timestamp_ms = offset };
}

static int64_t fingerprint_at(int64_t offset)
{
	const struct kafka_message message = message_at(offset);
	struct kafka_message_head head;
	kafka_message_copy_head(&message, &head);
	return kafka_message_fingerprint(&head);
}

static void extend_over(struct offsets_partition *p, int64_t offset, int64_t from, int64_t to)
{
	const struct kafka_message message = message_at(offset);
	offsets_extend(p, &message, from, to);
}

static void extend(struct offsets_partition *p, int64_t offset)
{
	extend_over(p, offset, 0, OFFSETS_INDEXES);
}

TEST_CASE(keeps_the_fingerprint_of_the_last_record)
{
	struct offsets_partition *p = offsets_find(*state, 3);
	assert_true(p->is_unverified);
	assert_false(offsets_find(*state, 1)->is_unverified);
	/* A record that is read again does not change the end. */
	extend(p, 95);
	offsets_mark_stored(*state);
	assert_int_equal(p->fingerprint, 5099);
	extend(p, 104);
	extend(p, 103);
	offsets_begin_batch(*state);
	offsets_mark_stored(*state);
	assert_int_equal(p->fingerprint, 5099);
	extend(p, 103);
	extend(p, 104);
	offsets_mark_stored(*state);
	assert_int_equal(p->fingerprint, fingerprint_at(104));
}

TEST_CASE(hands_over_the_fingerprint_of_the_last_record)
{
	struct offsets batch = { 0 };
	struct offsets_partition *p = offsets_find(*state, 3);
	extend(p, 100);
	extend(p, 105);
	offsets_hand_over(*state, &batch);
	assert_int_equal(offsets_find(&batch, 3)->next_fingerprint, fingerprint_at(105));
	assert_int_equal(p->fingerprint, fingerprint_at(105));
	extend_unverified(p, 106);
	offsets_hand_over(*state, &batch);
	assert_int_equal(offsets_find(&batch, 3)->next_fingerprint, 0);
	offsets_clear(&batch);
}

TEST_CASE(tells_the_record_and_the_event_of_a_position)
{
	assert_int_equal(offsets_next_record(offsets_position(7, 5)), 7);
	assert_int_equal(offsets_index(offsets_position(7, 5)), 5);
	assert_int_equal(offsets_last_record(offsets_position(7, 5)), 7);
	/* After the last event of a record. */
	assert_int_equal(offsets_position(7, OFFSETS_INDEXES), R(8));
	assert_int_equal(offsets_next_record(R(8)), 8);
	assert_int_equal(offsets_index(R(8)), 0);
	assert_int_equal(offsets_last_record(R(8)), 7);
}

TEST_CASE(ends_within_a_record_and_continues_there)
{
	struct offsets batch = { 0 };
	struct offsets_partition *p = offsets_find(*state, 3);
	extend_over(p, 104, 0, 6);
	offsets_hand_over(*state, &batch);
	const struct offsets_partition *handed = offsets_find(&batch, 3);
	assert_int_equal(handed->next_stored, offsets_position(104, 6));
	assert_int_equal(handed->next_fingerprint, fingerprint_at(104));
	assert_int_equal(p->stored, offsets_position(104, 6));
	assert_true(offsets_is_done(p, offsets_position(104, 5)));
	assert_false(offsets_is_counted(p, offsets_position(104, 6)));
	/* A batch of another partition keeps the fingerprint, and so does the rest of the record. */
	offsets_hand_over(*state, &batch);
	assert_int_equal(p->fingerprint, fingerprint_at(104));
	extend_over(p, 104, 6, OFFSETS_INDEXES);
	assert_int_equal(p->first, offsets_position(104, 6));
	offsets_hand_over(*state, &batch);
	assert_int_equal(p->stored, R(105));
	assert_int_equal(p->fingerprint, fingerprint_at(104));
	offsets_clear(&batch);
}

TEST_CASE(discards_a_batch_that_was_not_stored)
{
	struct offsets_partition *p = offsets_find(*state, 3);
	extend_unverified(p, 100);
	p->as_of_us = 5;
	offsets_begin_batch(*state);
	assert_int_equal(p->stored, R(100));
	assert_int_equal(p->next_stored, R(100));
	assert_int_equal(p->as_of_us, 0);
	assert_false(offsets_any_advanced(*state));
}

TEST_CASE(is_published_only_when_every_counted_visit_is)
{
	struct offsets_partition *p = offsets_find(*state, 3);
	assert_false(offsets_is_published(p));
	/* A batch with some of the already counted visits. */
	extend_unverified(p, 90);
	extend_unverified(p, 94);
	offsets_mark_stored(*state);
	assert_int_equal(p->published, R(90));
	offsets_mark_published(*state);
	offsets_begin_batch(*state);
	assert_int_equal(p->published, R(95));
	assert_int_equal(p->stored, R(100));
	assert_false(offsets_is_published(p));
	/* A batch with the rest and new visits: stored, but not handed over. */
	extend_unverified(p, 99);
	extend_unverified(p, 105);
	offsets_mark_stored(*state);
	assert_int_equal(p->stored, R(106));
	assert_false(offsets_is_published(p));
	offsets_mark_published(*state);
	assert_true(offsets_is_published(p));
}

TEST_CASE(continues_as_if_the_handed_over_batch_were_stored)
{
	struct offsets batch = { 0 };
	struct offsets_partition *p = offsets_find(*state, 3);
	extend_unverified(p, 100);
	extend_unverified(p, 105);
	p->as_of_us = 5;
	offsets_hand_over(*state, &batch);
	const struct offsets_partition *handed = offsets_find(&batch, 3);
	assert_int_equal(handed->stored, R(100));
	assert_int_equal(handed->published, R(90));
	assert_int_equal(handed->first, R(100));
	assert_int_equal(handed->next_stored, R(106));
	assert_int_equal(handed->as_of_us, 5);
	assert_int_equal(p->stored, R(106));
	assert_int_equal(p->published, R(106));
	assert_int_equal(p->as_of_us, 0);
	assert_false(offsets_any_advanced(*state));
	/* The next batch starts where this one ends, also in partitions that did not advance. */
	extend_unverified(p, 110);
	offsets_hand_over(*state, &batch);
	handed = offsets_find(&batch, 3);
	assert_int_equal(handed->stored, R(106));
	assert_int_equal(handed->next_stored, R(111));
	assert_int_equal(batch.count, ((struct offsets *)*state)->count);
	offsets_clear(&batch);
}

/* The batch before was stored, and its visits are on their way to Kafka. */
TEST_CASE(is_acknowledged_up_to_the_batch_before)
{
	struct offsets first = { 0 }, second = { 0 }, third = { 0 };
	extend(offsets_find(*state, 3), 100);
	extend(offsets_find(*state, 1), 57);
	offsets_hand_over(*state, &first);
	extend(offsets_find(*state, 3), 101);
	extend(offsets_find(*state, 1), 58);
	offsets_hand_over(*state, &second);
	assert_int_equal(offsets_acknowledged(offsets_find(&second, 3)), R(101));
	assert_int_equal(offsets_acknowledged(offsets_find(&second, 1)), R(58));
	offsets_set_unacked(&second, &first);
	assert_int_equal(offsets_acknowledged(offsets_find(&second, 3)), R(90));
	assert_int_equal(offsets_acknowledged(offsets_find(&second, 1)), R(57));
	assert_int_equal(offsets_find(&second, 3)->next_stored, R(102));
	/* The visits of the first batch are acknowledged before those of the second are sent. */
	extend(offsets_find(*state, 3), 102);
	offsets_hand_over(*state, &third);
	offsets_set_unacked(&third, &second);
	assert_int_equal(offsets_acknowledged(offsets_find(&third, 3)), R(101));
	offsets_clear(&first);
	offsets_clear(&second);
	offsets_clear(&third);
}

TEST_CASE(is_acknowledged_where_the_batch_before_has_no_records)
{
	struct offsets unacked = { 0 };
	struct offsets batch = { 0 };
	extend(offsets_find(*state, 1), 57);
	offsets_hand_over(*state, &unacked);
	extend(offsets_find(*state, 3), 100);
	offsets_find(*state, 3)->published = R(95);
	offsets_hand_over(*state, &batch);
	offsets_find(&unacked, 3)->published = R(80);
	offsets_set_unacked(&batch, &unacked);
	assert_int_equal(offsets_acknowledged(offsets_find(&batch, 3)), R(95));
	/* It never moves forward. */
	offsets_find(&batch, 1)->published = R(20);
	offsets_set_unacked(&batch, &unacked);
	assert_int_equal(offsets_acknowledged(offsets_find(&batch, 1)), R(20));
	offsets_clear(&unacked);
	offsets_clear(&batch);
}

TEST_CASE(counts_halted_partitions)
{
	assert_int_equal(offsets_halted_count(*state), 0);
	offsets_find(*state, 3)->halt_reason = OFFSETS_TOPIC_ENDS_BEFORE;
	offsets_begin_batch(*state);
	assert_int_equal(offsets_halted_count(*state), 1);
}

TEST_MAIN(.set_up = set_up, .tear_down = tear_down)
