/*
 * Reads a packed list of a roll-up (db/migrations/0007_rollups.sql): entries separated by
 * U+001E, each of humans, bots, uniques and a value, separated by U+001F.
 *
 *   const char *rest = rollup_list_begin(list);
 *   struct rollup_list_entry entry;
 *   enum err err;
 *   while ((err = rollup_list_next(&rest, &entry)) == OK) …
 *   if (err == ERR_INVALID) …
 *
 * Pure.
 */
#ifndef WAYMARK_LIB_CLICKS_ROLLUP_LIST_H
#define WAYMARK_LIB_CLICKS_ROLLUP_LIST_H

#include <stddef.h>

#include "lib/clicks/statistics_sums.h"

struct rollup_list_entry {
	struct statistics_sums sums;
	const char *value; /* within the list, without a NUL */
	size_t len;
};

const char *rollup_list_begin(const char *list);

/* ERR_NOT_FOUND: the end. ERR_INVALID: the list is broken here. */
enum err rollup_list_next(const char **rest, struct rollup_list_entry *entry) MUST_CHECK;

#endif
