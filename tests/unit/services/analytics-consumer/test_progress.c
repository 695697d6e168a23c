#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include "services/analytics-consumer/progress.h"

/* Partition 3 has been counted to 100 and published to 90; nothing was ever counted of partition 1. */
static int set_up(void **state)
{
	static struct progress progress;
	const struct progress_partition rows[] = {
		{ .partition = 3, .stored = 100, .record = 5099, .published = 90 },
		{ .partition = 1, .stored = 0, .published = 0 },
	};
	progress = (struct progress){ 0 };
	progress_assign(&progress, rows, 2);
	*state = &progress;
	return 0;
}

static int tear_down(void **state)
{
	progress_clear(*state);
	return 0;
}

static void knows_its_partitions_and_no_others(void **state)
{
	assert_int_equal(progress_find(*state, 1)->partition, 1);
	assert_int_equal(progress_find(*state, 3)->stored, 100);
	assert_null(progress_find(*state, 0));
	assert_null(progress_find(*state, 2));
	progress_clear(*state);
	assert_null(progress_find(*state, 1));
}

static void does_not_move_without_records(void **state)
{
	assert_false(progress_moves_any(*state));
}

static void reaches_behind_the_last_record_whatever_gaps_there_are(void **state)
{
	struct progress_partition *p = progress_find(*state, 3);
	progress_reach(p, 100, 5000 + 100);
	progress_reach(p, 107, 5000 + 107);
	assert_int_equal(p->next, 108);
	assert_int_equal(p->stored, 100);
	assert_int_equal(p->first, 100);
	assert_true(progress_moves_any(*state));
}

static void does_not_move_over_records_that_were_counted(void **state)
{
	struct progress_partition *p = progress_find(*state, 3);
	assert_true(progress_is_counted(p, 90));
	assert_true(progress_is_counted(p, 99));
	assert_false(progress_is_counted(p, 100));
	progress_reach(p, 90, 5000 + 90);
	progress_reach(p, 91, 5000 + 91);
	assert_int_equal(p->next, 100);
	assert_false(progress_moves_any(*state));
}

static void counts_every_record_of_a_partition_that_was_never_counted(void **state)
{
	struct progress_partition *p = progress_find(*state, 1);
	assert_false(progress_is_counted(p, 0));
	progress_reach(p, 57, 5000 + 57);
	assert_true(progress_moves(p));
	assert_int_equal(p->first, 57);
	assert_int_equal(p->next, 58);
}

static void keeps_what_was_stored(void **state)
{
	struct progress_partition *p = progress_find(*state, 1);
	progress_reach(p, 57, 5000 + 57);
	p->as_of_us = 5;
	progress_keep(*state);
	progress_publish(*state);
	progress_forget(*state);
	assert_int_equal(p->stored, 58);
	assert_int_equal(p->published, 58);
	assert_int_equal(p->next, 58);
	assert_int_equal(p->as_of_us, 0);
	assert_int_equal(p->first, -1);
	assert_int_equal(progress_find(*state, 3)->stored, 100);
	assert_false(progress_moves_any(*state));
}

static void knows_the_record_before_the_next_one(void **state)
{
	struct progress_partition *p = progress_find(*state, 3);
	assert_true(p->is_unproven);
	assert_false(progress_find(*state, 1)->is_unproven);
	/* Read again, so that it says nothing about the end. */
	progress_reach(p, 95, 5095);
	assert_int_equal(p->next_record, 5099);
	progress_reach(p, 104, 5104);
	progress_reach(p, 103, 5103);
	progress_forget(*state);
	assert_int_equal(p->next_record, 5099);
	progress_reach(p, 104, 5104);
	progress_keep(*state);
	assert_int_equal(p->record, 5104);
}

static void forgets_what_was_thrown_away(void **state)
{
	struct progress_partition *p = progress_find(*state, 3);
	progress_reach(p, 100, 5000 + 100);
	p->as_of_us = 5;
	progress_forget(*state);
	assert_int_equal(p->stored, 100);
	assert_int_equal(p->next, 100);
	assert_int_equal(p->as_of_us, 0);
	assert_false(progress_moves_any(*state));
}

static void is_published_only_when_all_that_was_counted_is(void **state)
{
	struct progress_partition *p = progress_find(*state, 3);
	assert_false(progress_is_published(p));
	/* A batch of visits that were counted before, but not all of them. */
	progress_reach(p, 90, 5000 + 90);
	progress_reach(p, 94, 5000 + 94);
	progress_keep(*state);
	assert_int_equal(p->published, 90);
	progress_publish(*state);
	progress_forget(*state);
	assert_int_equal(p->published, 95);
	assert_int_equal(p->stored, 100);
	assert_false(progress_is_published(p));
	/* The rest of them, and new ones, stored but not handed over. */
	progress_reach(p, 99, 5000 + 99);
	progress_reach(p, 105, 5000 + 105);
	progress_keep(*state);
	assert_int_equal(p->stored, 106);
	assert_false(progress_is_published(p));
	progress_publish(*state);
	assert_true(progress_is_published(p));
}

static void goes_on_as_if_what_was_handed_over_were_stored(void **state)
{
	struct progress batch = { 0 };
	struct progress_partition *p = progress_find(*state, 3);
	progress_reach(p, 100, 5000 + 100);
	progress_reach(p, 105, 5000 + 105);
	p->as_of_us = 5;
	progress_hand_over(*state, &batch);
	const struct progress_partition *handed = progress_find(&batch, 3);
	assert_int_equal(handed->stored, 100);
	assert_int_equal(handed->published, 90);
	assert_int_equal(handed->first, 100);
	assert_int_equal(handed->next, 106);
	assert_int_equal(handed->as_of_us, 5);
	assert_int_equal(p->stored, 106);
	assert_int_equal(p->published, 106);
	assert_int_equal(p->as_of_us, 0);
	assert_false(progress_moves_any(*state));
	/* The next batch expects what this one leaves, also of partitions that did not move. */
	progress_reach(p, 110, 5000 + 110);
	progress_hand_over(*state, &batch);
	handed = progress_find(&batch, 3);
	assert_int_equal(handed->stored, 106);
	assert_int_equal(handed->next, 111);
	assert_int_equal(batch.count, ((struct progress *)*state)->count);
	progress_clear(&batch);
}

static void counts_stranded_partitions(void **state)
{
	assert_int_equal(progress_stranded_count(*state), 0);
	progress_find(*state, 3)->strand = PROGRESS_ENDS_BEFORE;
	progress_forget(*state);
	assert_int_equal(progress_stranded_count(*state), 1);
}

int main(void)
{
#define WITH_TWO(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		WITH_TWO(knows_its_partitions_and_no_others),
		WITH_TWO(does_not_move_without_records),
		WITH_TWO(reaches_behind_the_last_record_whatever_gaps_there_are),
		WITH_TWO(does_not_move_over_records_that_were_counted),
		WITH_TWO(counts_every_record_of_a_partition_that_was_never_counted),
		WITH_TWO(keeps_what_was_stored),
		WITH_TWO(knows_the_record_before_the_next_one),
		WITH_TWO(forgets_what_was_thrown_away),
		WITH_TWO(is_published_only_when_all_that_was_counted_is),
		WITH_TWO(goes_on_as_if_what_was_handed_over_were_stored),
		WITH_TWO(counts_stranded_partitions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
