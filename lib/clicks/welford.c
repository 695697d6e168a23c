#include "lib/clicks/welford.h"

#include <math.h>

void welford_add(struct welford *w, double value)
{
	w->n++;
	double from_old_mean = value - w->mean;
	w->mean += from_old_mean / (double)w->n;
	w->m2 += from_old_mean * (value - w->mean);
}

double welford_stddev(const struct welford *w)
{
	return w->n < 2 ? 0 : sqrt(w->m2 / (double)(w->n - 1));
}
