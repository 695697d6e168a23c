#include <stdint.h>

#include "services/analytics-consumer/storage/visit_order.h"
#include "tests/support/test.h"

static struct visit visit_of(int32_t day, int64_t link_id, uint8_t visitor, uint8_t event)
{
	return (struct visit){ .day = day,
		               .event = { .link_id = link_id, .event_id = { event } },
		               .has_visitor_hash = visitor != 0,
		               .visitor_hash = { visitor } };
}

TEST_CASE(sorts_visits_by_day_link_visitor_and_event)
{
	struct visit visits[] = { visit_of(2, 1, 1, 1), visit_of(1, 2, 1, 2),
		                  visit_of(1, 1, 200, 3), visit_of(1, 1, 1, 5),
		                  visit_of(1, 1, 1, 4) };
	const size_t expected[] = { 4, 3, 2, 1, 0 };
	struct visit_order order;
	visit_order_init(&order, 5);
	visit_order_sort(&order, visits, 5);
	assert_int_equal(order.count, 5);
	for (size_t i = 0; i < 5; i++)
		assert_ptr_equal(order.visits[i], &visits[expected[i]]);
	visit_order_clear(&order);
}

TEST_CASE(leaves_out_visits_that_do_not_count)
{
	struct visit visits[] = { visit_of(1, 1, 1, 9), visit_of(1, 1, 1, 3), visit_of(1, 1, 1, 9),
		                  visit_of(1, 1, 1, 4), visit_of(1, 1, 1, 5) };
	visits[3].disposition = VISIT_DUPLICATE;
	visits[4].disposition = VISIT_ALREADY_COUNTED;
	struct visit_order order;
	visit_order_init(&order, 5);
	visit_order_sort(&order, visits, 5);
	assert_int_equal(order.count, 2);
	assert_ptr_equal(order.visits[0], &visits[1]);
	assert_ptr_equal(order.visits[1], &visits[0]);
	assert_int_equal(visits[2].disposition, VISIT_DUPLICATE);
	visits[1].disposition = VISIT_DUPLICATE;
	visit_order_drop_duplicates(&order);
	assert_int_equal(order.count, 1);
	assert_ptr_equal(order.visits[0], &visits[0]);
	visit_order_clear(&order);
}

TEST_CASE(compares_visitors_by_day_link_and_hash)
{
	struct visit left = visit_of(1, 1, 7, 1);
	struct visit right = visit_of(1, 1, 7, 2);
	assert_true(visit_order_is_same_visitor(&left, &right));
	right.visitor_hash[VISIT_VISITOR_HASH_SIZE - 1] = 1;
	assert_false(visit_order_is_same_visitor(&left, &right));
	right = visit_of(1, 2, 7, 2);
	assert_false(visit_order_is_same_visitor(&left, &right));
	right = visit_of(2, 1, 7, 2);
	assert_false(visit_order_is_same_visitor(&left, &right));
	left = visit_of(1, 1, 0, 1);
	right = visit_of(1, 1, 0, 2);
	assert_false(visit_order_is_same_visitor(&left, &right));
}

TEST_MAIN()
