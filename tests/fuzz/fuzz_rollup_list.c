/*
 * Packed lists of roll-ups, of values and of quarters. Here ';' and '|' stand for U+001E and
 * U+001F. The values of an accepted list are found again, in the order of their visits.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/clicks/rollup_list.h"
#include "services/links-api/statistics/statistics.h"

#define VALUES_MAX 1000
#define LIST_BYTES_MAX ((size_t)16 * 1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void add_up(const char *list, const struct statistics_sums *totals)
{
	struct statistics_values *values = statistics_values_new();
	struct statistics_values_item *items = mem_array(VALUES_MAX, sizeof(*items));
	enum err err = statistics_values_add_list(values, totals, list);
	if (err == OK)
		err = statistics_values_finish(values);
	size_t count =
		err == OK ? statistics_values_top(values, VISIT_FILTER_HUMANS, VALUES_MAX, items)
			  : 0;
	for (size_t i = 0; i < count; i++) {
		require(statistics_values_sums(values, items[i].value).humans ==
		        items[i].sums.humans);
		require(i == 0 || items[i - 1].sums.humans >= items[i].sums.humans);
	}
	free(items);
	statistics_values_free(values);
}

/* The sum of a list and nothing is found again, and has no more entries. */
static void sum_up(const char *list)
{
	struct rollup_list_sum sum = { 0 };
	struct strbuf once, twice;
	size_t entries = 0, again = 0;
	strbuf_init(&once, LIST_BYTES_MAX);
	strbuf_init(&twice, LIST_BYTES_MAX);
	if (rollup_list_sum_add(&sum, list) == OK &&
	    rollup_list_sum_write(&sum, &once, &entries) == OK) {
		struct statistics_sums totals = sum.totals;
		require(rollup_list_sum_add(&sum, once.data) == OK);
		require(rollup_list_sum_write(&sum, &twice, &again) == OK);
		require(entries == again && strcmp(once.data, twice.data) == 0);
		require(memcmp(&totals, &sum.totals, sizeof(totals)) == 0);
	}
	rollup_list_sum_clear(&sum);
	strbuf_clear(&once);
	strbuf_clear(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int64_t start_us = 0;
	struct statistics_sums sums;
	struct statistics_series points;
	char *list = mem_text_n((const char *)data, size);
	for (size_t i = 0; i < size; i++) {
		if (list[i] == ';')
			list[i] = '\x1e';
		else if (list[i] == '|')
			list[i] = '\x1f';
	}
	sum_up(list);
	add_up(list, &(struct statistics_sums){ 1000, 100, 10 });
	statistics_series_init(&points, &start_us, 1, &sums);
	statistics_series_begin(&points, (struct statistics_span){ 0, INT64_MAX });
	(void)!statistics_series_add_quarters(&points, 0, list);
	free(list);
	return 0;
}
