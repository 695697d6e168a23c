/*
 * Count, mean and sum of squared deviations in one pass (Welford 1962). statistics_store.c merges
 * two of them in SQL. Pure.
 */
#ifndef WAYMARK_LIB_CLICKS_WELFORD_H
#define WAYMARK_LIB_CLICKS_WELFORD_H

#include <stdint.h>

struct welford {
	int64_t n;
	double mean;
	double m2;
};

void welford_add(struct welford *w, double value);
/* Sample standard deviation; 0 for fewer than two values. */
double welford_stddev(const struct welford *w);

#endif
