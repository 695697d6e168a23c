#include "lib/clicks/welford.h"

#include <math.h>

void welford_add(struct welford *w, double value)
{
	w->n++;
	double from_old_mean = value - w->mean;
	w->mean += from_old_mean / (double)w->n;
	w->m2 += from_old_mean * (value - w->mean);
}

/* statistics_store.c has the same formula in SQL. */
void welford_merge(struct welford *into, const struct welford *other)
{
	int64_t n = into->n + other->n;
	if (n == 0)
		return;
	double delta = other->mean - into->mean;
	into->m2 += other->m2 + delta * delta * (double)into->n * (double)other->n / (double)n;
	into->mean += delta * (double)other->n / (double)n;
	into->n = n;
}

double welford_stddev(const struct welford *w)
{
	return w->n < 2 ? 0 : sqrt(w->m2 / (double)(w->n - 1));
}
