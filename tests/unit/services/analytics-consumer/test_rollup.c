#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/clicks/rollup_list.h"
#include "services/analytics-consumer/storage/rollup.h"
#include "tests/support/test.h"

/* 2026-11-20T22:00:00Z */
#define EVENING (INT64_C(1795212000) * CLOCK_US_PER_S)
#define MINUTE (60 * CLOCK_US_PER_S)
#define HOUR CLOCK_US_PER_HOUR

static struct visit visit_at(int64_t link_id, int64_t at_us, const char *country)
{
	struct visit visit = { .event = { .link_id = link_id, .occurred_at_us = at_us } };
	snprintf(visit.event.country, sizeof(visit.event.country), "%s", country);
	return visit;
}

static const struct rollup_row *find(const struct rollup_rows *in, int64_t link_id, int64_t hour_us,
                                     enum visit_dimension dimension, const char *value)
{
	for (size_t i = 0; i < in->count; i++) {
		const struct rollup_row *row = &in->rows[i];
		if (row->link_id == link_id && row->hour_us == hour_us &&
		    row->dimension == dimension && strcmp(row->value, value) == 0)
			return row;
	}
	fail_msg("no row of link %lld with '%s' in list %d", (long long)link_id, value,
	         (int)dimension);
	return NULL;
}

static void assert_counts(const struct rollup_row *row, int humans, int bots, int uniques)
{
	assert_int_equal(row->humans, humans);
	assert_int_equal(row->bots, bots);
	assert_int_equal(row->uniques, uniques);
}

TEST_CASE(returns_no_rows_without_visits)
{
	struct rollup *rollup = rollup_new(1);
	assert_int_equal(rollup_sum(rollup, NULL, 0).count, 0);
	rollup_free(rollup);
}

TEST_CASE(sums_totals_per_quarter_of_an_hour)
{
	struct visit visits[] = { visit_at(1, EVENING, ""),
		                  visit_at(1, EVENING + 15 * MINUTE - 1, ""),
		                  visit_at(1, EVENING + 15 * MINUTE, ""),
		                  visit_at(2, EVENING + 119 * MINUTE, "") };
	visits[0].event.is_unique = true;
	visits[1].event.is_bot = true;
	struct rollup *rollup = rollup_new(4);
	struct rollup_rows rows = rollup_sum(rollup, visits, 4);
	assert_int_equal(rows.count, 3);
	assert_counts(find(&rows, 1, EVENING, VISIT_DIMENSION_QUARTERS, "88"), 1, 1, 1);
	assert_counts(find(&rows, 1, EVENING, VISIT_DIMENSION_QUARTERS, "89"), 1, 0, 0);
	assert_counts(find(&rows, 2, EVENING + HOUR, VISIT_DIMENSION_QUARTERS, "95"), 1, 0, 0);
	rollup_free(rollup);
}

TEST_CASE(sums_values_per_hour)
{
	struct visit visits[] = { visit_at(1, EVENING, "DE"), visit_at(1, EVENING + HOUR - 1, "DE"),
		                  visit_at(1, EVENING + HOUR, "DE"), visit_at(1, EVENING, "FR"),
		                  visit_at(2, EVENING, "DE") };
	visits[0].event.is_unique = true;
	visits[2].event.is_unique = true;
	visits[1].event.is_bot = true;
	struct rollup *rollup = rollup_new(5);
	struct rollup_rows rows = rollup_sum(rollup, visits, 5);
	assert_counts(find(&rows, 1, EVENING, VISIT_DIMENSION_COUNTRY, "DE"), 1, 1, 1);
	assert_counts(find(&rows, 1, EVENING + HOUR, VISIT_DIMENSION_COUNTRY, "DE"), 1, 0, 1);
	assert_counts(find(&rows, 1, EVENING, VISIT_DIMENSION_COUNTRY, "FR"), 1, 0, 0);
	assert_counts(find(&rows, 2, EVENING, VISIT_DIMENSION_COUNTRY, "DE"), 1, 0, 0);
	rollup_free(rollup);
}

TEST_CASE(keeps_the_values_that_count_most_and_counts_the_rest_as_other)
{
	enum { VISITS = ROLLUP_LIST_VALUES_MAX + 300 };
	struct visit *visits = mem_array(VISITS, sizeof(*visits));
	for (int i = 0; i < VISITS; i++) {
		visits[i] = visit_at(1, EVENING, "");
		/* The last hundred visits are of one city. */
		snprintf(visits[i].event.city, sizeof(visits[i].event.city), "city-%d",
		         i < VISITS - 100 ? i : VISITS - 100);
	}
	visits[VISITS - 1].event.is_bot = true;
	struct rollup *rollup = rollup_new(VISITS);
	struct rollup_rows rows = rollup_sum(rollup, visits, VISITS);
	assert_int_equal(rows.count, 1 + ROLLUP_LIST_VALUES_MAX + 1);
	assert_counts(find(&rows, 1, EVENING, VISIT_DIMENSION_CITY, "city-1200"), 99, 1, 0);
	assert_counts(find(&rows, 1, EVENING, VISIT_DIMENSION_CITY, ROLLUP_LIST_OTHER), 201, 0, 0);
	rollup_free(rollup);
	free(visits);
}

#define PUT(member, text) snprintf((member), sizeof(member), "%s", (text))

TEST_CASE(covers_each_dimension_and_has_no_rows_for_unknown_values)
{
	struct visit visits[] = { visit_at(1, EVENING, "DE"), visit_at(1, EVENING, "") };
	struct visit_event *event = &visits[0].event;
	PUT(event->city, "Bonn");
	PUT(event->region, "DE-NW");
	PUT(event->referrer_host, "news.example.com");
	PUT(event->browser, "Firefox");
	PUT(event->os, "Linux");
	PUT(event->device, "desktop");
	PUT(event->language, "de");
	PUT(event->utm_source, "letter");
	PUT(event->utm_medium, "mail");
	PUT(event->utm_campaign, "spring");
	PUT(event->rule, "Germans");
	PUT(event->variant, "B");
	PUT(event->alias, "old-name");
	PUT(event->scan, "scan");
	static const char *const values[VISIT_DIMENSION_LISTS] = {
		"88",       "DE",   "Bonn",   "DE-NW", "news.example.com", "Firefox", "Linux",
		"desktop",  "de",   "letter", "mail",  "spring",           "Germans", "B",
		"old-name", "scan",
	};
	struct rollup *rollup = rollup_new(2);
	struct rollup_rows rows = rollup_sum(rollup, visits, 2);
	assert_int_equal(rows.count, VISIT_DIMENSION_LISTS);
	for (enum visit_dimension d = VISIT_DIMENSION_COUNTRY; d < VISIT_DIMENSION_LISTS; d++)
		assert_counts(find(&rows, 1, EVENING, d, values[d]), 1, 0, 0);
	assert_counts(find(&rows, 1, EVENING, VISIT_DIMENSION_QUARTERS, "88"), 2, 0, 0);
	rollup_free(rollup);
}

TEST_CASE(leaves_out_visits_that_do_not_count)
{
	struct visit visits[] = { visit_at(1, EVENING, "DE"), visit_at(1, EVENING, "DE"),
		                  visit_at(1, EVENING, "DE") };
	visits[0].disposition = VISIT_DUPLICATE;
	visits[1].disposition = VISIT_ALREADY_COUNTED;
	struct rollup *rollup = rollup_new(3);
	struct rollup_rows rows = rollup_sum(rollup, visits, 3);
	assert_counts(find(&rows, 1, EVENING, VISIT_DIMENSION_QUARTERS, "88"), 1, 0, 0);
	assert_counts(find(&rows, 1, EVENING, VISIT_DIMENSION_COUNTRY, "DE"), 1, 0, 0);
	rollup_free(rollup);
}

static void assert_ordered(const struct rollup_rows *in)
{
	for (size_t i = 1; i < in->count; i++) {
		const struct rollup_row *left = &in->rows[i - 1];
		const struct rollup_row *right = &in->rows[i];
		assert_true(left->link_id <= right->link_id);
		if (left->link_id != right->link_id)
			continue;
		assert_true(left->hour_us <= right->hour_us);
		if (left->hour_us == right->hour_us)
			assert_true(left->dimension <= right->dimension);
	}
}

static void assert_sums(const struct rollup_rows *in, int64_t visits)
{
	int64_t sums[VISIT_DIMENSION_LISTS] = { 0 };
	for (size_t i = 0; i < in->count; i++)
		sums[in->rows[i].dimension] += in->rows[i].humans + in->rows[i].bots;
	assert_int_equal(sums[VISIT_DIMENSION_QUARTERS], visits);
	assert_int_equal(sums[VISIT_DIMENSION_COUNTRY], visits);
	assert_int_equal(sums[VISIT_DIMENSION_REFERRER_HOST], visits);
	assert_int_equal(sums[VISIT_DIMENSION_CITY], 0);
}

TEST_CASE(sums_to_all_visits_in_every_dimension_and_in_key_order)
{
	enum { VISITS = 5000 };
	struct visit *visits = mem_array(VISITS, sizeof(*visits));
	for (int i = 0; i < VISITS; i++) {
		char country[3] = { (char)('A' + i % 7), (char)('A' + i % 11), '\0' };
		visits[i] = visit_at(1 + i % 13, EVENING + i % 5 * HOUR, country);
		visits[i].event.is_bot = i % 3 == 0;
		snprintf(visits[i].event.referrer_host, sizeof(visits[i].event.referrer_host),
		         "host-%d", i);
	}
	struct rollup *rollup = rollup_new(VISITS);
	/* The second run reuses the tables. */
	for (int again = 0; again < 2; again++) {
		struct rollup_rows rows = rollup_sum(rollup, visits, VISITS);
		assert_ordered(&rows);
		assert_sums(&rows, VISITS);
	}
	rollup_free(rollup);
	free(visits);
}

TEST_MAIN()
