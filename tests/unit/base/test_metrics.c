#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/metrics.h"
#include "tests/support/test.h"

static void assert_rendered(struct metrics *m, const char *expected)
{
	struct strbuf out;
	strbuf_init(&out, 64 * 1024);
	metrics_render(m, &out);
	assert_int_equal(strbuf_status(&out), OK);
	assert_string_equal(out.data, expected);
	strbuf_clear(&out);
	metrics_free(m);
}

TEST_CASE(renders_counters_and_gauges)
{
	struct metrics *m = metrics_new();
	struct metric *counter = metrics_counter(m, "waymark_hits_total", "Hits.", NULL);
	struct metric *gauge = metrics_gauge(m, "waymark_depth", "Depth.", NULL);
	metrics_add(counter, 2);
	metrics_add(counter, 3);
	metrics_set(gauge, 10);
	metrics_add(gauge, -14);
	assert_int_equal(metrics_value(counter), 5);
	assert_rendered(m, "# HELP waymark_hits_total Hits.\n"
	                   "# TYPE waymark_hits_total counter\n"
	                   "waymark_hits_total 5\n"
	                   "# HELP waymark_depth Depth.\n"
	                   "# TYPE waymark_depth gauge\n"
	                   "waymark_depth -4\n");
}

static double nine(void *ctx)
{
	(void)ctx;
	return 9;
}

TEST_CASE(reads_values_that_are_counted_elsewhere)
{
	struct metrics *m = metrics_new();
	metrics_counter_callback(m, "waymark_moves_total", "Moves.", NULL, nine, NULL);
	metrics_gauge_callback(m, "waymark_depth", "Depth.", "side=\"left\"", nine, NULL);
	assert_rendered(m, "# HELP waymark_moves_total Moves.\n"
	                   "# TYPE waymark_moves_total counter\n"
	                   "waymark_moves_total 9\n"
	                   "# HELP waymark_depth Depth.\n"
	                   "# TYPE waymark_depth gauge\n"
	                   "waymark_depth{side=\"left\"} 9\n");
}

TEST_CASE(writes_one_header_for_series_of_one_name)
{
	struct metrics *m = metrics_new();
	metrics_add(metrics_counter(m, "waymark_hits_total", "Hits.", "level=\"memory\""), 1);
	metrics_add(metrics_counter(m, "waymark_hits_total", "Hits.", "level=\"redis\""), 2);
	assert_rendered(m, "# HELP waymark_hits_total Hits.\n"
	                   "# TYPE waymark_hits_total counter\n"
	                   "waymark_hits_total{level=\"memory\"} 1\n"
	                   "waymark_hits_total{level=\"redis\"} 2\n");
}

TEST_CASE(registering_twice_gives_one_series)
{
	static const double bounds[] = { 1 };
	struct metrics *m = metrics_new();
	for (int i = 0; i < 2; i++) {
		metrics_add(metrics_counter(m, "waymark_hits_total", "Hits.", "level=\"memory\""),
		            1);
		metrics_add(metrics_gauge(m, "waymark_depth", "Depth.", NULL), 10);
		metrics_observe(
			metrics_histogram(m, "waymark_seconds", "Seconds.", NULL, bounds, 1), 0.5);
	}
	assert_rendered(m, "# HELP waymark_hits_total Hits.\n"
	                   "# TYPE waymark_hits_total counter\n"
	                   "waymark_hits_total{level=\"memory\"} 2\n"
	                   "# HELP waymark_depth Depth.\n"
	                   "# TYPE waymark_depth gauge\n"
	                   "waymark_depth 20\n"
	                   "# HELP waymark_seconds Seconds.\n"
	                   "# TYPE waymark_seconds histogram\n"
	                   "waymark_seconds_bucket{le=\"1\"} 2\n"
	                   "waymark_seconds_bucket{le=\"+Inf\"} 2\n"
	                   "waymark_seconds_sum 1\n"
	                   "waymark_seconds_count 2\n");
}

TEST_CASE(escapes_backslashes_and_newlines_in_help)
{
	struct metrics *m = metrics_new();
	metrics_counter(m, "x_total", "a\\b\nc\"d", NULL);
	assert_rendered(m, "# HELP x_total a\\\\b\\nc\"d\n"
	                   "# TYPE x_total counter\n"
	                   "x_total 0\n");
}

TEST_CASE(buckets_are_cumulative_and_the_last_one_is_the_count)
{
	static const double bounds[] = { 0.1, 1 };
	struct metrics *m = metrics_new();
	struct metric *h = metrics_histogram(m, "wait_seconds", "Waits.", "pool=\"a\"", bounds, 2);
	metrics_observe(h, 0.0625);
	metrics_observe(h, 0.1); /* bounds are inclusive */
	metrics_observe(h, 0.5);
	metrics_observe(h, 2);
	assert_rendered(m, "# HELP wait_seconds Waits.\n"
	                   "# TYPE wait_seconds histogram\n"
	                   "wait_seconds_bucket{pool=\"a\",le=\"0.1\"} 2\n"
	                   "wait_seconds_bucket{pool=\"a\",le=\"1\"} 3\n"
	                   "wait_seconds_bucket{pool=\"a\",le=\"+Inf\"} 4\n"
	                   "wait_seconds_sum{pool=\"a\"} 2.6625\n"
	                   "wait_seconds_count{pool=\"a\"} 4\n");
}

TEST_CASE(ignores_nan_observations)
{
	static const double bounds[] = { 1 };
	struct metrics *m = metrics_new();
	struct metric *h = metrics_histogram(m, "wait_seconds", "Waits.", NULL, bounds, 1);
	metrics_observe(h, (double)NAN);
	metrics_observe(h, 0.5);
	assert_rendered(m, "# HELP wait_seconds Waits.\n"
	                   "# TYPE wait_seconds histogram\n"
	                   "wait_seconds_bucket{le=\"1\"} 1\n"
	                   "wait_seconds_bucket{le=\"+Inf\"} 1\n"
	                   "wait_seconds_sum 0.5\n"
	                   "wait_seconds_count 1\n");
}

static double give(void *ctx)
{
	return *(const double *)ctx;
}

TEST_CASE(calls_callbacks_at_each_scrape)
{
	double values[] = { 1.5, HUGE_VAL, -HUGE_VAL, (double)NAN };
	struct metrics *m = metrics_new();
	metrics_gauge_callback(m, "lag_seconds", "Lag.", "n=\"0\"", give, &values[0]);
	metrics_gauge_callback(m, "lag_seconds", "Lag.", "n=\"1\"", give, &values[1]);
	metrics_gauge_callback(m, "lag_seconds", "Lag.", "n=\"2\"", give, &values[2]);
	metrics_gauge_callback(m, "lag_seconds", "Lag.", "n=\"3\"", give, &values[3]);
	values[0] = 2.5;
	assert_rendered(m, "# HELP lag_seconds Lag.\n"
	                   "# TYPE lag_seconds gauge\n"
	                   "lag_seconds{n=\"0\"} 2.5\n"
	                   "lag_seconds{n=\"1\"} +Inf\n"
	                   "lag_seconds{n=\"2\"} -Inf\n"
	                   "lag_seconds{n=\"3\"} NaN\n");
}

TEST_CASE(does_nothing_for_a_null_metric)
{
	metrics_add(NULL, 1);
	metrics_set(NULL, 1);
	metrics_observe(NULL, 1);
	assert_int_equal(metrics_value(NULL), 0);
	metrics_free(NULL);
}

TEST_CASE(latency_bounds_are_ascending)
{
	assert_true(metrics_latency_bounds[0] <= 0.0005);
	for (size_t i = 1; i < metrics_latency_bound_count; i++)
		assert_true(metrics_latency_bounds[i - 1] < metrics_latency_bounds[i]);
	assert_true(metrics_latency_bounds[metrics_latency_bound_count - 1] >= 10);
}

#define THREADS 4
#define ROUNDS 20000

struct both {
	struct metric *counter, *histogram;
};

static void *count(void *arg)
{
	const struct both *both = arg;
	for (int i = 0; i < ROUNDS; i++) {
		metrics_add(both->counter, 1);
		metrics_observe(both->histogram, 0.5);
	}
	return NULL;
}

TEST_CASE(counts_exactly_across_threads)
{
	static const double bounds[] = { 1 };
	struct metrics *m = metrics_new();
	struct both both = { metrics_counter(m, "n_total", "N.", NULL),
		             metrics_histogram(m, "s", "S.", NULL, bounds, 1) };
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count, &both), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_rendered(
		m,
		"# HELP n_total N.\n# TYPE n_total counter\nn_total 80000\n"
		"# HELP s S.\n# TYPE s histogram\n"
		"s_bucket{le=\"1\"} 80000\ns_bucket{le=\"+Inf\"} 80000\ns_sum 40000\ns_count 80000\n");
}

struct pair {
	int64_t moves;
	struct metric *left, *right;
};

static void move(void *ctx)
{
	struct pair *pair = ctx;
	pair->moves++;
	metrics_set(pair->left, pair->moves);
	metrics_set(pair->right, 100 - pair->moves);
}

TEST_CASE(refreshes_consistent_series_before_each_rendering)
{
	struct metrics *m = metrics_new();
	struct pair pair = { .left = metrics_gauge(m, "left", "L.", NULL),
		             .right = metrics_gauge(m, "right", "R.", NULL) };
	metrics_before_render(m, move, &pair);
	struct strbuf first;
	strbuf_init(&first, 4096);
	metrics_render(m, &first);
	assert_non_null(strstr(first.data, "left 1\n"));
	assert_non_null(strstr(first.data, "right 99\n"));
	strbuf_clear(&first);
	assert_rendered(
		m,
		"# HELP left L.\n# TYPE left gauge\nleft 2\n# HELP right R.\n# TYPE right gauge\nright 98\n");
}

TEST_MAIN()
