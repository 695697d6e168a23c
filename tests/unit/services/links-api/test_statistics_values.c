#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/clicks/rollup_list.h"
#include "services/links-api/statistics/statistics.h"
#include "tests/support/test.h"

#define SUMS(h, b, u) (&(struct statistics_sums){ h, b, u })

static void assert_sums(struct statistics_sums sums, int64_t humans, int64_t bots, int64_t uniques)
{
	assert_int_equal(sums.humans, humans);
	assert_int_equal(sums.bots, bots);
	assert_int_equal(sums.uniques, uniques);
}

/* The packed list of a readable one, "humans|bots|uniques|value;…". The caller frees it. */
static char *pack(const char *readable)
{
	char *list = mem_text(readable);
	for (char *at = list; *at != '\0'; at++) {
		if (*at == ';')
			*at = '\x1e';
		else if (*at == '|')
			*at = '\x1f';
	}
	return list;
}

static enum err try_add(struct statistics_values *values, const struct statistics_sums *totals,
                        const char *readable)
{
	char *list = pack(readable);
	enum err err = statistics_values_add_list(values, totals, list);
	free(list);
	return err;
}

static void add(struct statistics_values *values, const struct statistics_sums *totals,
                const char *readable)
{
	assert_int_equal(try_add(values, totals, readable), OK);
}

/* --- lists --- */

TEST_CASE(a_list_is_read_entry_by_entry)
{
	char *list = pack("3|0|2|DE;-1|999999999999999999|-0|");
	const char *rest = rollup_list_begin(list);
	struct rollup_list_entry entry;
	assert_int_equal(rollup_list_next(&rest, &entry), OK);
	assert_sums(entry.sums, 3, 0, 2);
	assert_int_equal(entry.len, 2);
	assert_memory_equal(entry.value, "DE", 2);
	assert_int_equal(rollup_list_next(&rest, &entry), OK);
	assert_sums(entry.sums, -1, INT64_C(999999999999999999), 0);
	assert_int_equal(entry.len, 0);
	assert_int_equal(rollup_list_next(&rest, &entry), ERR_NOT_FOUND);
	free(list);
	rest = rollup_list_begin("");
	assert_int_equal(rollup_list_next(&rest, &entry), ERR_NOT_FOUND);
}

TEST_CASE(a_broken_list_is_invalid)
{
	static const char *const lists[] = {
		"1",         "DE",         ";",
		"|||",       "1|2|",       "1|2|3",
		"1|-|3|DE",  "1||3|DE",    "1|2.5|3|DE",
		" 1|2|3|DE", "+1|2|3|DE",  "1000000000000000000|2|3|DE",
		"1|2|3|DE;", "1|2|3|DE|4", "1|2|3|DE;1|2",
	};
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		struct statistics_values *values = statistics_values_new();
		assert_int_equal(try_add(values, SUMS(1, 2, 3), lists[i]), ERR_INVALID);
		statistics_values_free(values);
	}
}

TEST_CASE(a_value_longer_than_any_stored_one_is_invalid)
{
	char list[VISIT_FILTER_VALUE_SIZE + 16];
	for (int len = VISIT_FILTER_VALUE_SIZE - 1; len <= VISIT_FILTER_VALUE_SIZE; len++) {
		struct statistics_values *values = statistics_values_new();
		snprintf(list, sizeof(list), "1|%d|%d|%0*d", 0, 0, len, 0);
		assert_int_equal(try_add(values, SUMS(1, 0, 0), list),
		                 len < VISIT_FILTER_VALUE_SIZE ? OK : ERR_INVALID);
		statistics_values_free(values);
	}
}

TEST_CASE(sums_that_overflow_are_invalid)
{
	struct statistics_values *values = statistics_values_new();
	assert_int_equal(statistics_values_add(values, "DE", SUMS(INT64_MAX, 0, 0)), OK);
	assert_int_equal(statistics_values_add(values, "DE", SUMS(1, 0, 0)), ERR_INVALID);
	statistics_values_free(values);
}

/* --- values --- */

TEST_CASE(lists_and_visits_add_up_and_the_rest_has_no_value)
{
	struct statistics_values *values = statistics_values_new();
	add(values, SUMS(10, 5, 7), "4|2|1|DE;1|0|1|AT");
	add(values, SUMS(3, 0, 0), "2|0|0|AT;1|0|0|AT");
	add(values, SUMS(2, 2, 2), "");
	assert_int_equal(statistics_values_add(values, "", SUMS(1, 0, 1)), OK);
	assert_int_equal(statistics_values_add(values, "DE", SUMS(1, 1, 1)), OK);
	assert_int_equal(statistics_values_finish(values), OK);
	assert_sums(statistics_values_sums(values, "DE"), 5, 3, 2);
	assert_sums(statistics_values_sums(values, "AT"), 4, 0, 1);
	assert_sums(statistics_values_sums(values, ""), 5 + 2 + 1, 3 + 2, 5 + 2 + 1);
	assert_sums(statistics_values_sums(values, "FR"), 0, 0, 0);
	statistics_values_free(values);
}

TEST_CASE(the_most_visited_values_come_first_and_ties_are_ordered_by_bytes)
{
	struct statistics_values *values = statistics_values_new();
	static const char list[] = "2|0|0|\xc3\xa4;2|0|0|z;2|0|0|Z;1|9|0|b;0|1|0|bot;5|0|0|(other)";
	add(values, SUMS(12, 10, 0), list);
	assert_int_equal(statistics_values_finish(values), OK);
	struct statistics_values_item items[9];
	static const char *const humans[] = { "(other)", "Z", "z", "\xc3\xa4", "b" };
	static const char *const all[] = { "b", "(other)", "Z" };
	static const char *const bots[] = { "b", "bot" };
	assert_int_equal(statistics_values_top(values, VISIT_FILTER_HUMANS, 9, items), 5);
	for (size_t i = 0; i < 5; i++)
		assert_string_equal(items[i].value, humans[i]);
	assert_int_equal(statistics_values_top(values, VISIT_FILTER_ALL, 3, items), 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(items[i].value, all[i]);
	assert_int_equal(statistics_values_top(values, VISIT_FILTER_BOTS, 9, items), 2);
	for (size_t i = 0; i < 2; i++)
		assert_string_equal(items[i].value, bots[i]);
	assert_sums(items[0].sums, 1, 9, 0);
	statistics_values_free(values);
}

TEST_CASE(negative_counts_cancel_and_are_not_listed)
{
	struct statistics_values *values = statistics_values_new();
	add(values, SUMS(5, 1, 0), "4|1|0|DE;1|0|0|AT");
	add(values, SUMS(-4, -1, 0), "-4|-1|0|DE");
	add(values, SUMS(-2, 0, 0), "-2|0|0|FR");
	assert_int_equal(statistics_values_finish(values), OK);
	struct statistics_values_item items[9];
	assert_int_equal(statistics_values_top(values, VISIT_FILTER_ALL, 9, items), 1);
	assert_string_equal(items[0].value, "AT");
	assert_sums(statistics_values_sums(values, "FR"), -2, 0, 0);
	statistics_values_free(values);
}

TEST_CASE(only_named_values_are_kept)
{
	struct statistics_values *values = statistics_values_new();
	statistics_values_name(values, "DE");
	statistics_values_name(values, "");
	add(values, SUMS(9, 0, 0), "4|0|0|DE;3|0|0|AT");
	assert_int_equal(statistics_values_finish(values), OK);
	assert_sums(statistics_values_sums(values, "DE"), 4, 0, 0);
	assert_sums(statistics_values_sums(values, "AT"), 0, 0, 0);
	assert_sums(statistics_values_sums(values, ""), 2, 0, 0);
	statistics_values_free(values);
}

/* --- very many values --- */

/* Value n has n % 1000 + 1 visits. */
static int64_t fill(struct statistics_values *values, int64_t from, int64_t to)
{
	int64_t all = 0;
	char list[64];
	for (int64_t n = from; n < to; n++) {
		int64_t visits = n % 1000 + 1;
		snprintf(list, sizeof(list), "%d|%d|%d|value %d", (int)visits, 0, 0, (int)n);
		add(values, SUMS(visits, 0, 0), list);
		all += visits;
	}
	return all;
}

TEST_CASE(a_hundred_thousand_values_are_exact)
{
	struct statistics_values *values = statistics_values_new();
	fill(values, 0, STATISTICS_VALUES_KEPT_MAX - 1);
	fill(values, 0, STATISTICS_VALUES_KEPT_MAX - 1);
	assert_int_equal(statistics_values_finish(values), OK);
	struct statistics_values_item items[3];
	assert_int_equal(statistics_values_top(values, VISIT_FILTER_HUMANS, 3, items), 3);
	assert_string_equal(items[0].value, "value 10999");
	assert_string_equal(items[1].value, "value 11999");
	assert_int_equal(items[2].sums.humans, 2000);
	assert_sums(statistics_values_sums(values, "value 0"), 2, 0, 0);
	assert_sums(statistics_values_sums(values, ROLLUP_LIST_OTHER), 0, 0, 0);
	statistics_values_free(values);
}

TEST_CASE(beyond_the_limit_the_rarest_values_are_counted_together)
{
	struct statistics_values *values = statistics_values_new();
	add(values, SUMS(1000000, 0, 0), "1000000|0|0|often");
	int64_t all = 1000000 + fill(values, 0, 3 * STATISTICS_VALUES_KEPT_MAX);
	add(values, SUMS(1, 0, 0), "1|0|0|(other)");
	add(values, SUMS(1, 0, 0), "1|0|0|often");
	assert_int_equal(statistics_values_finish(values), OK);
	struct statistics_values_item *items =
		mem_array(2 * STATISTICS_VALUES_KEPT_MAX, sizeof(*items));
	size_t count = statistics_values_top(values, VISIT_FILTER_HUMANS,
	                                     2 * STATISTICS_VALUES_KEPT_MAX, items);
	assert_in_range(count, STATISTICS_VALUES_KEPT_MAX / 2, STATISTICS_VALUES_KEPT_MAX + 1);
	int64_t sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += items[i].sums.humans;
	assert_int_equal(sum, all + 2);
	assert_string_equal(items[0].value, ROLLUP_LIST_OTHER);
	assert_string_equal(items[1].value, "often");
	assert_int_equal(items[1].sums.humans, 1000001);
	free(items);
	statistics_values_free(values);
}

TEST_CASE(the_text_of_long_values_is_bounded)
{
	struct statistics_values *values = statistics_values_new();
	char value[VISIT_FILTER_VALUE_SIZE];
	for (int n = 0; n < 60000; n++) {
		snprintf(value, sizeof(value), "%0300d", n);
		assert_int_equal(statistics_values_add(values, value, SUMS(1, 0, 0)), OK);
	}
	assert_int_equal(statistics_values_finish(values), OK);
	assert_int_equal(statistics_values_sums(values, value).humans, 1);
	assert_true(statistics_values_sums(values, ROLLUP_LIST_OTHER).humans > 0);
	statistics_values_free(values);
}

TEST_MAIN()
