#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/visitors/text_cache.h"
#include "tests/support/test.h"

#define TEXT_MAX 20

static struct text_cache *new_cache(size_t capacity)
{
	return text_cache_new(capacity, TEXT_MAX, sizeof(int));
}

static void put(struct text_cache *cache, int number)
{
	char text[TEXT_MAX + 1];
	snprintf(text, sizeof(text), "agent-%d", number);
	text_cache_put(cache, text, &number);
}

static bool has(struct text_cache *cache, int number)
{
	char text[TEXT_MAX + 1];
	snprintf(text, sizeof(text), "agent-%d", number);
	const int *value = text_cache_get(cache, text);
	if (value)
		assert_int_equal(*value, number);
	return value != NULL;
}

TEST_CASE(returns_what_was_put)
{
	struct text_cache *cache = new_cache(4);
	assert_false(has(cache, 1));
	put(cache, 1);
	put(cache, 2);
	assert_true(has(cache, 1));
	assert_true(has(cache, 2));
	assert_false(has(cache, 3));
	text_cache_free(cache);
}

TEST_CASE(evicts_the_least_recently_used_entry)
{
	struct text_cache *cache = new_cache(3);
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
	text_cache_free(cache);
}

TEST_CASE(is_empty_after_clear)
{
	struct text_cache *cache = new_cache(3);
	for (int round = 0; round < 3; round++) {
		for (int i = 1; i <= 4; i++)
			put(cache, i);
		assert_true(has(cache, 4));
		text_cache_clear(cache);
		for (int i = 1; i <= 4; i++)
			assert_false(has(cache, i));
	}
	text_cache_free(cache);
}

TEST_CASE(works_with_a_capacity_of_one)
{
	struct text_cache *cache = new_cache(1);
	for (int i = 0; i < 100; i++) {
		put(cache, i);
		assert_true(has(cache, i));
		assert_false(has(cache, i - 1));
	}
	text_cache_free(cache);
}

TEST_CASE(keeps_the_newest_of_many_entries)
{
	enum { CAPACITY = 1000, ENTRIES = 50000 };
	struct text_cache *cache = new_cache(CAPACITY);
	for (int i = 0; i < ENTRIES; i++)
		put(cache, i);
	int kept = 0;
	for (int i = 0; i < ENTRIES; i++)
		kept += has(cache, i);
	assert_int_equal(kept, CAPACITY);
	for (int i = ENTRIES - CAPACITY; i < ENTRIES; i++)
		assert_true(has(cache, i));
	text_cache_free(cache);
}

TEST_CASE(ignores_a_text_longer_than_the_limit)
{
	struct text_cache *cache = new_cache(2);
	const char *const texts[] = { "", "seven77", "a text of 20 bytes. ",
		                      "a text of 21 bytes.  " };
	for (int i = 0; i < 4; i++) {
		text_cache_put(cache, texts[i], &i);
		const int *value = text_cache_get(cache, texts[i]);
		assert_true(i < 3 ? value && *value == i : !value);
	}
	text_cache_free(cache);
}

TEST_MAIN()
