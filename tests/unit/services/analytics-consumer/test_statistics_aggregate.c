#include <math.h>
#include <stdint.h>

#include "services/analytics-consumer/storage/visit_store.h"
#include "tests/support/test.h"

#define VISITS_MAX 6

static struct visit visit_of(int64_t link_id, int64_t at_us, uint32_t latency_us)
{
	return (struct visit){ .event = { .event_id = { (uint8_t)at_us },
		                          .link_id = link_id,
		                          .occurred_at_us = at_us,
		                          .latency_us = latency_us } };
}

static size_t sum(struct visit *visits, size_t count, struct statistics *sums)
{
	struct visit_order order;
	const struct visit *sorted[VISITS_MAX];
	visit_order_init(&order, count);
	visit_order_sort(&order, visits, count);
	size_t rows = visit_store_sum(&order, sorted, sums);
	visit_order_clear(&order);
	return rows;
}

TEST_CASE(returns_no_rows_without_visits)
{
	struct visit duplicate = visit_of(1, 1, 1);
	duplicate.disposition = VISIT_DUPLICATE;
	struct statistics sums[2];
	assert_int_equal(sum(&duplicate, 1, sums), 0);
}

TEST_CASE(adds_up_visits_per_link_and_for_the_platform)
{
	struct visit visits[VISITS_MAX] = { visit_of(7, 50, 2000), visit_of(3, 70, 1000),
		                            visit_of(7, 60, 4000), visit_of(7, 99, 9000),
		                            visit_of(7, 98, 9000), visit_of(3, 10, 3000) };
	visits[0].event.is_unique = true;
	visits[1].event.is_unique = true;
	visits[2].event.is_bot = true;
	visits[3].disposition = VISIT_DUPLICATE;
	visits[4].disposition = VISIT_ALREADY_COUNTED;
	visits[4].event.is_unique = true;
	struct statistics sums[VISITS_MAX + 1];
	assert_int_equal(sum(visits, VISITS_MAX, sums), 3);
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
}

TEST_MAIN()
