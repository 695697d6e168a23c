/* Visit counts. Pure. */
#ifndef WAYMARK_LIB_CLICKS_STATISTICS_SUMS_H
#define WAYMARK_LIB_CLICKS_STATISTICS_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"

struct statistics_sums {
	int64_t humans;
	int64_t bots;
	/*
	 * First visits of a visitor to a link on a UTC day, never those of bots. Of several
	 * links it is their sum: who visits two of them counts twice.
	 */
	int64_t uniques;
};

/* ERR_INVALID: no such number of visits exists. */
static inline enum err MUST_CHECK statistics_sums_add(struct statistics_sums *sums,
                                                      const struct statistics_sums *more)
{
	bool overflows = __builtin_add_overflow(sums->humans, more->humans, &sums->humans);
	overflows |= __builtin_add_overflow(sums->bots, more->bots, &sums->bots);
	overflows |= __builtin_add_overflow(sums->uniques, more->uniques, &sums->uniques);
	return overflows ? ERR_INVALID : OK;
}

#endif
