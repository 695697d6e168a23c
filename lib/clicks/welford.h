/*
 * Count, mean and sum of squared deviations in one pass (Welford 1962), and the merge of two such
 * states (Chan, Golub, LeVeque 1979). Pure.
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
void welford_merge(struct welford *into, const struct welford *other);
/* Sample standard deviation; 0 for fewer than two values. */
double welford_stddev(const struct welford *w);

#endif
