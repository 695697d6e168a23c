#include <math.h>
#include <stdint.h>

#include "lib/base/array.h"
#include "lib/clicks/statistics_store.h"
#include "tests/support/test.h"

static const double latencies[] = { 1.5, 2.25, 0.125, 900, 3, 3, 3.75, 12.5, 0.5, 41 };
enum { COUNT = ARRAY_SIZE(latencies) };

static void assert_close(double a, double b)
{
	if (fabs(a - b) > 1e-9 * (1 + fabs(b)))
		fail_msg("%.17g is not %.17g", a, b);
}

static struct welford of(const double *values, size_t count)
{
	struct welford w = { 0 };
	for (size_t i = 0; i < count; i++)
		statistics_store_welford_add(&w, values[i]);
	return w;
}

/* The textbook algorithm with two passes. */
static double stddev_of(const double *values, size_t count, double *mean)
{
	double sum = 0, squares = 0;
	for (size_t i = 0; i < count; i++)
		sum += values[i];
	*mean = sum / (double)count;
	for (size_t i = 0; i < count; i++)
		squares += (values[i] - *mean) * (values[i] - *mean);
	return sqrt(squares / (double)(count - 1));
}

TEST_CASE(agrees_with_the_two_pass_algorithm)
{
	double mean, stddev = stddev_of(latencies, COUNT, &mean);
	struct welford w = of(latencies, COUNT);
	assert_int_equal(w.n, COUNT);
	assert_close(w.mean, mean);
	assert_close(statistics_store_welford_stddev(&w), stddev);
}

TEST_CASE(deviation_of_fewer_than_two_values_is_zero)
{
	struct welford w = { 0 };
	assert_true(statistics_store_welford_stddev(&w) == 0);
	statistics_store_welford_add(&w, 5);
	assert_true(statistics_store_welford_stddev(&w) == 0);
}

TEST_CASE(stays_precise_far_from_zero)
{
	/* A plain sum of squares would lose all significant digits here. */
	const double values[] = { 1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16 };
	struct welford w = of(values, 4);
	assert_close(statistics_store_welford_stddev(&w), sqrt(30));
}

TEST_MAIN()
