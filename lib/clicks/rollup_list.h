/*
 * Packed lists of roll-ups (db/migrations): entries separated by U+001E, each of humans, bots,
 * uniques and a value, separated by U+001F. No list is "".
 *
 * One thread at a time.
 */
#ifndef WAYMARK_LIB_CLICKS_ROLLUP_LIST_H
#define WAYMARK_LIB_CLICKS_ROLLUP_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/strbuf.h"
#include "lib/clicks/statistics_sums.h"

/* Named values of a list. More would let anybody who sends random values fill the disk. */
#define ROLLUP_LIST_VALUES_MAX 1000
/* Counts what is beyond. A visitor's own value of this name is counted with it. */
#define ROLLUP_LIST_OTHER "(other)"

struct rollup_list_entry {
	struct statistics_sums sums;
	/* Within the list, without a NUL. */
	const char *value;
	size_t len;
};

/*
 * Reads a list:
 *
 *   const char *rest = rollup_list_begin(list);
 *   struct rollup_list_entry entry;
 *   enum err err;
 *   while ((err = rollup_list_next(&rest, &entry)) == OK) …
 *   if (err == ERR_INVALID) …
 */
const char *rollup_list_begin(const char *list);

/* ERR_NOT_FOUND: the end. ERR_INVALID: the list is broken here. */
enum err rollup_list_next(const char **rest, struct rollup_list_entry *entry) MUST_CHECK;

/* Appends an entry to a list. */
void rollup_list_append(struct strbuf *list, const struct rollup_list_entry *entry);

/*
 * Adds lists up to one:
 *
 *   struct rollup_list_sum sum = { 0 };
 *   err = rollup_list_sum_add(&sum, list); …
 *   err = rollup_list_sum_write(&sum, &out, &entries);
 *   rollup_list_sum_clear(&sum);
 */
struct rollup_list_sum {
	struct rollup_list_entry *entries;
	size_t count, capacity;
	/* No value becomes "(other)", and counts may be negative: for quarters of an hour. */
	bool is_exact;
	/* Of what was written. */
	struct statistics_sums totals;
};

/* Borrows the list until the sum is written. ERR_INVALID: the list is broken. */
enum err rollup_list_sum_add(struct rollup_list_sum *sum, const char *list) MUST_CHECK;

/*
 * Writes the sum in place of what out has, ordered by the bytes of the values, and empties it for
 * the next one. Values without visits are left out. Beyond ROLLUP_LIST_VALUES_MAX values, those
 * with the most visits are kept, and "(other)" follows as one more. A repair may subtract more of a
 * value than the list names: then "(other)" has the rest, unless the list is exact. ERR_INVALID: no such number of visits
 * exists. *entries: how many were written.
 */
enum err rollup_list_sum_write(struct rollup_list_sum *sum, struct strbuf *out,
                               size_t *entries) MUST_CHECK;
void rollup_list_sum_clear(struct rollup_list_sum *sum);

#endif
