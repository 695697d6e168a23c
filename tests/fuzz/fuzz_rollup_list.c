/*
 * Packed lists of roll-ups, of values and of quarters. Here ';' and '|' stand for U+001E and
 * U+001F. The values of an accepted list are found again, in the order of their visits.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/mem.h"
#include "services/links-api/statistics/rollup_points.h"
#include "services/links-api/statistics/rollup_values.h"

#define VALUES_MAX 1000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void add_up(const char *list, const struct statistics_sums *totals)
{
	struct rollup_values *values = rollup_values_new();
	struct rollup_values_item *items = mem_array(VALUES_MAX, sizeof(*items));
	enum err err = rollup_values_add_list(values, totals, list);
	if (err == OK)
		err = rollup_values_finish(values);
	size_t count =
		err == OK ? rollup_values_top(values, VISIT_FILTER_HUMANS, VALUES_MAX, items) : 0;
	for (size_t i = 0; i < count; i++) {
		require(rollup_values_of(values, items[i].value).humans == items[i].sums.humans);
		require(i == 0 || items[i - 1].sums.humans >= items[i].sums.humans);
	}
	free(items);
	rollup_values_free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int64_t start_us = 0;
	struct statistics_sums sums;
	struct rollup_points points;
	char *list = mem_text_n((const char *)data, size);
	for (size_t i = 0; i < size; i++) {
		if (list[i] == ';')
			list[i] = '\x1e';
		else if (list[i] == '|')
			list[i] = '\x1f';
	}
	add_up(list, &(struct statistics_sums){ 1000, 100, 10 });
	rollup_points_init(&points, &start_us, 1, &sums);
	rollup_points_begin(&points, (struct statistics_span){ 0, INT64_MAX });
	(void)!rollup_points_add_quarters(&points, 0, list);
	free(list);
	return 0;
}
