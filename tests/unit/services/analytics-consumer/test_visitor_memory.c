#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <string.h>

#include "services/analytics-consumer/visitor_memory.h"

static struct visit visit_of(int32_t day, int64_t link_id, uint64_t visitor)
{
	struct visit visit = { .event = { .link_id = link_id }, .day = day, .has_visitor_hash = true };
	memcpy(visit.visitor_hash, &visitor, sizeof(visitor));
	return visit;
}

static bool knows(const struct visitor_memory *memory, int32_t day, int64_t link_id, uint64_t visitor)
{
	struct visit visit = visit_of(day, link_id, visitor);
	return visitor_memory_knows(memory, &visit);
}

static void add(struct visitor_memory *memory, int32_t day, int64_t link_id, uint64_t visitor)
{
	struct visit visit = visit_of(day, link_id, visitor);
	visitor_memory_add(memory, &visit);
}

static void knows_a_visitor_by_link_and_day(void **state)
{
	(void)state;
	struct visitor_memory *memory = visitor_memory_new(100);
	assert_false(knows(memory, 1, 1, 1));
	add(memory, 1, 1, 1);
	assert_true(knows(memory, 1, 1, 1));
	assert_false(knows(memory, 2, 1, 1));
	assert_false(knows(memory, 1, 2, 1));
	assert_false(knows(memory, 1, 1, 2));
	visitor_memory_forget(memory);
	assert_false(knows(memory, 1, 1, 1));
	visitor_memory_free(memory);
}

static void tells_a_million_visitors_apart(void **state)
{
	(void)state;
	struct visitor_memory *memory = visitor_memory_new(1000000);
	for (uint64_t visitor = 0; visitor < 1000000; visitor++) {
		assert_false(knows(memory, 20000, (int64_t)(visitor % 10), visitor / 10));
		add(memory, 20000, (int64_t)(visitor % 10), visitor / 10);
	}
	for (uint64_t visitor = 0; visitor < 1000000; visitor++)
		assert_true(knows(memory, 20000, (int64_t)(visitor % 10), visitor / 10));
	visitor_memory_free(memory);
}

static void keeps_the_last_ones_and_forgets_those_long_before(void **state)
{
	(void)state;
	struct visitor_memory *memory = visitor_memory_new(100);
	for (uint64_t visitor = 0; visitor < 1000; visitor++) {
		add(memory, 1, 1, visitor);
		add(memory, 1, 1, visitor);
	}
	for (uint64_t visitor = 900; visitor < 1000; visitor++)
		assert_true(knows(memory, 1, 1, visitor));
	for (uint64_t visitor = 0; visitor < 800; visitor++)
		assert_false(knows(memory, 1, 1, visitor));
	visitor_memory_free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_a_visitor_by_link_and_day),
		cmocka_unit_test(tells_a_million_visitors_apart),
		cmocka_unit_test(keeps_the_last_ones_and_forgets_those_long_before),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
