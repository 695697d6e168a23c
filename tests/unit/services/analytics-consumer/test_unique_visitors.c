#include <stdint.h>
#include <string.h>

#include "services/analytics-consumer/storage/unique_visitors.h"
#include "tests/support/test.h"

static struct visit visit_of(int32_t day, int64_t link_id, uint64_t visitor)
{
	struct visit visit = { .event = { .link_id = link_id },
		               .day = day,
		               .has_visitor_hash = true };
	memcpy(visit.visitor_hash, &visitor, sizeof(visitor));
	return visit;
}

static bool contains(const struct unique_visitors_cache *cache, int32_t day, int64_t link_id,
                     uint64_t visitor)
{
	struct visit visit = visit_of(day, link_id, visitor);
	return unique_visitors_cache_contains(cache, &visit);
}

static void add(struct unique_visitors_cache *cache, int32_t day, int64_t link_id, uint64_t visitor)
{
	struct visit visit = visit_of(day, link_id, visitor);
	unique_visitors_cache_add(cache, &visit);
}

TEST_CASE(contains_a_visitor_per_link_and_day)
{
	struct unique_visitors_cache *cache = unique_visitors_cache_new(100);
	assert_false(contains(cache, 1, 1, 1));
	add(cache, 1, 1, 1);
	assert_true(contains(cache, 1, 1, 1));
	assert_false(contains(cache, 2, 1, 1));
	assert_false(contains(cache, 1, 2, 1));
	assert_false(contains(cache, 1, 1, 2));
	unique_visitors_cache_clear(cache);
	assert_false(contains(cache, 1, 1, 1));
	unique_visitors_cache_free(cache);
}

TEST_CASE(distinguishes_many_visitors)
{
	struct unique_visitors_cache *cache = unique_visitors_cache_new(200000);
	for (uint64_t visitor = 0; visitor < 200000; visitor++) {
		assert_false(contains(cache, 20000, (int64_t)(visitor % 10), visitor / 10));
		add(cache, 20000, (int64_t)(visitor % 10), visitor / 10);
	}
	for (uint64_t visitor = 0; visitor < 200000; visitor++)
		assert_true(contains(cache, 20000, (int64_t)(visitor % 10), visitor / 10));
	unique_visitors_cache_free(cache);
}

TEST_CASE(keeps_recent_visitors_in_a_bounded_room)
{
	struct unique_visitors_cache *cache = unique_visitors_cache_new(100);
	for (uint64_t visitor = 0; visitor < 10000; visitor++) {
		add(cache, 1, 1, visitor);
		add(cache, 1, 1, visitor);
	}
	for (uint64_t visitor = 9900; visitor < 10000; visitor++)
		assert_true(contains(cache, 1, 1, visitor));
	size_t kept = 0;
	for (uint64_t visitor = 0; visitor < 10000; visitor++)
		kept += contains(cache, 1, 1, visitor);
	assert_true(kept >= 400 && kept <= 800);
	unique_visitors_cache_free(cache);
}

TEST_MAIN()
