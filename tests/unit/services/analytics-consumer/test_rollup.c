#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "services/analytics-consumer/rollup.h"

#define HOUR INT64_C(1000)

static struct visit visit_at(int64_t link_id, int64_t hour, const char *country)
{
	struct visit visit = { .event = { .link_id = link_id,
		                          .occurred_at_us = hour * CLOCK_US_PER_HOUR + 1,
		                          .browser = "Chrome",
		                          .os = "Linux",
		                          .device = "desktop" } };
	snprintf(visit.event.country, sizeof(visit.event.country), "%s", country);
	return visit;
}

static const struct rollup_row *find(const struct rollup_row *rows, size_t count, int64_t link_id, int64_t hour,
                                     enum rollup_dimension dimension, const char *value)
{
	for (size_t i = 0; i < count; i++) {
		if (rows[i].link_id == link_id && rows[i].bucket_us == hour * CLOCK_US_PER_HOUR &&
		    rows[i].dimension == dimension && strcmp(rows[i].value, value) == 0)
			return &rows[i];
	}
	return NULL;
}

static void gives_no_rows_for_no_visits(void **state)
{
	(void)state;
	size_t count = 1;
	struct rollup *rollup = rollup_new(1);
	rollup_sum(rollup, NULL, 0, &count);
	assert_int_equal(count, 0);
	rollup_free(rollup);
}

static void adds_up_by_link_hour_dimension_and_value(void **state)
{
	(void)state;
	struct visit visits[] = { visit_at(2, HOUR, "DE"),     visit_at(1, HOUR, "DE"), visit_at(1, HOUR, "FR"),
		                  visit_at(1, HOUR + 1, "DE"), visit_at(1, HOUR, "DE"), visit_at(1, HOUR, "DE") };
	visits[4].event.is_bot = true;
	visits[5].event.occurred_at_us = (HOUR + 1) * CLOCK_US_PER_HOUR - 1;
	struct rollup *rollup = rollup_new(6);
	size_t count = 0;
	const struct rollup_row *rows = rollup_sum(rollup, visits, 6, &count);
	const struct rollup_row *total = find(rows, count, 1, HOUR, ROLLUP_TOTAL, "");
	assert_int_equal(total->humans, 3);
	assert_int_equal(total->bots, 1);
	const struct rollup_row *german = find(rows, count, 1, HOUR, ROLLUP_COUNTRY, "DE");
	assert_int_equal(german->humans, 2);
	assert_int_equal(german->bots, 1);
	assert_int_equal(find(rows, count, 1, HOUR, ROLLUP_COUNTRY, "FR")->humans, 1);
	assert_int_equal(find(rows, count, 1, HOUR + 1, ROLLUP_TOTAL, "")->humans, 1);
	assert_int_equal(find(rows, count, 2, HOUR, ROLLUP_DEVICE, "desktop")->humans, 1);
	assert_int_equal(find(rows, count, 1, HOUR, ROLLUP_REFERRER, "")->humans, 3);
	/* Six dimensions of three link hours, and one more country. */
	assert_int_equal(count, 3 * ROLLUP_DIMENSIONS + 1);
	rollup_free(rollup);
}

static void leaves_out_what_does_not_count(void **state)
{
	(void)state;
	struct visit visits[] = { visit_at(1, HOUR, "DE"), visit_at(1, HOUR, "DE"), visit_at(1, HOUR, "DE") };
	visits[0].fate = VISIT_REPEAT;
	visits[1].fate = VISIT_COUNTED_BEFORE;
	struct rollup *rollup = rollup_new(3);
	size_t count = 0;
	const struct rollup_row *rows = rollup_sum(rollup, visits, 3, &count);
	assert_int_equal(count, ROLLUP_DIMENSIONS);
	assert_int_equal(rows[0].humans, 1);
	rollup_free(rollup);
}

static void sums_to_the_visits_in_every_dimension_and_in_one_order(void **state)
{
	(void)state;
	enum { VISITS = 5000 };
	struct visit *visits = mem_array(VISITS, sizeof(*visits));
	for (int i = 0; i < VISITS; i++) {
		char country[3] = { (char)('A' + i % 7), (char)('A' + i % 11), '\0' };
		visits[i] = visit_at(1 + i % 13, HOUR + i % 5, country);
		visits[i].event.is_bot = i % 3 == 0;
		snprintf(visits[i].event.referrer_host, sizeof(visits[i].event.referrer_host), "host-%d", i);
	}
	struct rollup *rollup = rollup_new(VISITS);
	size_t count = 0;
	const struct rollup_row *rows = rollup_sum(rollup, visits, VISITS, &count);
	int64_t sums[ROLLUP_DIMENSIONS] = { 0 };
	for (size_t i = 0; i < count; i++) {
		sums[rows[i].dimension] += rows[i].humans + rows[i].bots;
		if (i == 0)
			continue;
		assert_true(rows[i - 1].link_id <= rows[i].link_id);
		if (rows[i - 1].link_id == rows[i].link_id)
			assert_true(rows[i - 1].dimension <= rows[i].dimension);
	}
	for (size_t d = 0; d < ROLLUP_DIMENSIONS; d++)
		assert_int_equal(sums[d], VISITS);
	/* Again, from a used table. */
	rollup_sum(rollup, visits, VISITS, &count);
	assert_int_equal(rows[0].humans + rows[0].bots, (VISITS + 64) / 65);
	rollup_free(rollup);
	free(visits);
}

static void names_each_dimension(void **state)
{
	(void)state;
	assert_string_equal(rollup_dimension_name(ROLLUP_TOTAL), "total");
	for (enum rollup_dimension d = 0; d < ROLLUP_DIMENSIONS; d++)
		assert_non_null(rollup_dimension_name(d));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_no_rows_for_no_visits),
		cmocka_unit_test(adds_up_by_link_hour_dimension_and_value),
		cmocka_unit_test(leaves_out_what_does_not_count),
		cmocka_unit_test(sums_to_the_visits_in_every_dimension_and_in_one_order),
		cmocka_unit_test(names_each_dimension),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
