/*
 * Adds the packed lists of a dimension up to visits per value. Visits without a value, "", are the
 * totals of the roll-ups minus their lists.
 *
 * The memory is bounded. Beyond ROLLUP_VALUES_MAX values, or ROLLUP_VALUES_TEXT_MAX bytes of them,
 * the half with the most visits is kept, and the others count under "(other)", as in a list. Values
 * that are named in advance stay exact.
 *
 * One thread at a time.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_ROLLUP_VALUES_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_ROLLUP_VALUES_H

#include <stddef.h>

#include "lib/clicks/statistics_sums.h"
#include "services/links-api/statistics/visit_filter.h"

#define ROLLUP_VALUES_MAX 100000
#define ROLLUP_VALUES_TEXT_MAX ((size_t)8 * 1024 * 1024)

struct rollup_values;

struct rollup_values *rollup_values_new(void);
void rollup_values_free(struct rollup_values *values);

/* Call it for each value before anything else is added. Other values are then not kept. */
void rollup_values_name(struct rollup_values *values, const char *value);

/* Adds a row of roll-ups; list may be "". ERR_INVALID: the list is broken. */
enum err rollup_values_add_list(struct rollup_values *values, const struct statistics_sums *totals,
                                const char *list) MUST_CHECK;

/* Adds visits with one value. ERR_INVALID: the value is too long, or the sums are. */
enum err rollup_values_add(struct rollup_values *values, const char *value,
                           const struct statistics_sums *sums) MUST_CHECK;

/*
 * Computes the visits without a value. Call it once, when everything is added. ERR_INVALID: no such
 * number of visits exists.
 */
enum err rollup_values_finish(struct rollup_values *values) MUST_CHECK;

/* --- after rollup_values_finish --- */

/* The sums of one value, zeros if it is not there. */
struct statistics_sums rollup_values_of(const struct rollup_values *values, const char *value);

struct rollup_values_item {
	/* Borrowed from values. */
	const char *value;
	struct statistics_sums sums;
};

/*
 * The values with the most visits of the traffic, at most limit; items must have room for them.
 * Ties are ordered by bytes. Values without such visits are left out.
 */
size_t rollup_values_top(const struct rollup_values *values, enum visit_filter_traffic traffic,
                         size_t limit, struct rollup_values_item *items);

#endif
