#include <stdint.h>
#include <stdio.h>

#include "services/analytics-consumer/facts/user_agent_cache.h"
#include "tests/support/test.h"

static void put(struct user_agent_cache *cache, int number)
{
	char text[32];
	struct user_agent value = { .bot_reason = "" };
	snprintf(text, sizeof(text), "agent-%d", number);
	snprintf(value.browser, sizeof(value.browser), "browser-%d", number);
	user_agent_cache_put(cache, text, &value);
}

static bool has(struct user_agent_cache *cache, int number)
{
	char text[32];
	char browser[32];
	snprintf(text, sizeof(text), "agent-%d", number);
	snprintf(browser, sizeof(browser), "browser-%d", number);
	const struct user_agent *value = user_agent_cache_get(cache, text);
	if (value)
		assert_string_equal(value->browser, browser);
	return value != NULL;
}

static void returns_what_was_put(void **state)
{
	(void)state;
	struct user_agent_cache *cache = user_agent_cache_new(4);
	assert_false(has(cache, 1));
	put(cache, 1);
	put(cache, 2);
	assert_true(has(cache, 1));
	assert_true(has(cache, 2));
	assert_false(has(cache, 3));
	user_agent_cache_free(cache);
}

static void evicts_the_least_recently_used_entry(void **state)
{
	(void)state;
	struct user_agent_cache *cache = user_agent_cache_new(3);
	for (int i = 1; i <= 3; i++)
		put(cache, i);
	assert_true(has(cache, 1));
	put(cache, 4);
	assert_false(has(cache, 2));
	assert_true(has(cache, 1));
	assert_true(has(cache, 3));
	assert_true(has(cache, 4));
	put(cache, 5);
	assert_false(has(cache, 1));
	user_agent_cache_free(cache);
}

static void is_empty_after_clear(void **state)
{
	(void)state;
	struct user_agent_cache *cache = user_agent_cache_new(3);
	for (int round = 0; round < 3; round++) {
		for (int i = 1; i <= 4; i++)
			put(cache, i);
		assert_true(has(cache, 4));
		user_agent_cache_clear(cache);
		for (int i = 1; i <= 4; i++)
			assert_false(has(cache, i));
	}
	user_agent_cache_free(cache);
}

static void works_with_a_capacity_of_one(void **state)
{
	(void)state;
	struct user_agent_cache *cache = user_agent_cache_new(1);
	for (int i = 0; i < 100; i++) {
		put(cache, i);
		assert_true(has(cache, i));
		assert_false(has(cache, i - 1));
	}
	user_agent_cache_free(cache);
}

static void keeps_the_newest_of_many_entries(void **state)
{
	(void)state;
	enum { CAPACITY = 1000, ENTRIES = 50000 };
	struct user_agent_cache *cache = user_agent_cache_new(CAPACITY);
	for (int i = 0; i < ENTRIES; i++)
		put(cache, i);
	int kept = 0;
	for (int i = 0; i < ENTRIES; i++)
		kept += has(cache, i);
	assert_int_equal(kept, CAPACITY);
	for (int i = ENTRIES - CAPACITY; i < ENTRIES; i++)
		assert_true(has(cache, i));
	user_agent_cache_free(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(returns_what_was_put),
		cmocka_unit_test(evicts_the_least_recently_used_entry),
		cmocka_unit_test(is_empty_after_clear),
		cmocka_unit_test(works_with_a_capacity_of_one),
		cmocka_unit_test(keeps_the_newest_of_many_entries),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
