#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <math.h>

#include "services/analytics-consumer/tally.h"

static struct visit visit_of(int64_t link_id, int64_t at_us, int32_t latency_us)
{
	return (struct visit){ .event = { .event_id = { (uint8_t)at_us }, .link_id = link_id, .occurred_at_us = at_us },
		               .latency_us = latency_us };
}

static const struct statistics *sum(struct tally *tally, struct visit *visits, size_t count, size_t *rows)
{
	struct visit_order order;
	visit_order_init(&order, count);
	visit_order_sort(&order, visits, count);
	const struct statistics *sums = tally_sum(tally, &order, rows);
	visit_order_clear(&order);
	return sums;
}

static void gives_no_rows_for_no_visits(void **state)
{
	(void)state;
	struct visit repeat = visit_of(1, 1, 1);
	repeat.fate = VISIT_REPEAT;
	struct tally *tally = tally_new(1);
	size_t rows = 1;
	sum(tally, &repeat, 1, &rows);
	assert_int_equal(rows, 0);
	tally_free(tally);
}

static void adds_up_links_and_the_platform(void **state)
{
	(void)state;
	struct visit visits[] = { visit_of(7, 50, 2000), visit_of(3, 70, 1000), visit_of(7, 60, 4000),
		                  visit_of(7, 99, 9000), visit_of(7, 98, 9000), visit_of(3, 10, 3000) };
	visits[0].event.unique = true;
	visits[1].event.unique = true;
	visits[2].event.is_bot = true;
	visits[3].fate = VISIT_REPEAT;
	visits[4].fate = VISIT_COUNTED_BEFORE;
	visits[4].event.unique = true;
	struct tally *tally = tally_new(6);
	size_t rows = 0;
	const struct statistics *sums = sum(tally, visits, 6, &rows);
	assert_int_equal(rows, 3);
	assert_int_equal(sums[0].link_id, STATISTICS_STORE_PLATFORM);
	assert_int_equal(sums[0].visit_count, 3);
	assert_int_equal(sums[0].bot_count, 1);
	assert_int_equal(sums[0].unique_visitors, 2);
	assert_int_equal(sums[0].last_visited_at_us, 70);
	assert_int_equal(sums[0].latency_ms.n, 4);
	assert_true(fabs(sums[0].latency_ms.mean - 2.5) < 1e-12);
	assert_true(fabs(sums[0].latency_ms.m2 - 5.0) < 1e-12);
	assert_int_equal(sums[1].link_id, 3);
	assert_int_equal(sums[1].visit_count, 2);
	assert_int_equal(sums[1].last_visited_at_us, 70);
	assert_int_equal(sums[2].link_id, 7);
	assert_int_equal(sums[2].visit_count, 1);
	assert_int_equal(sums[2].bot_count, 1);
	assert_int_equal(sums[2].last_visited_at_us, 60);
	assert_int_equal(sums[2].latency_ms.n, 2);
	tally_free(tally);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_no_rows_for_no_visits),
		cmocka_unit_test(adds_up_links_and_the_platform),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
