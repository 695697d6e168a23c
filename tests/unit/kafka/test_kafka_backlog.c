#include "lib/kafka/kafka_backlog.h"

#include <math.h>

#include "tests/support/test.h"

/* What one response holds. */
#define RUN_RECORDS_MAX 20

/* The events of the record at an offset. */
typedef int64_t (*density)(int64_t offset);

static int64_t one(int64_t offset)
{
	(void)offset;
	return 1;
}

static int64_t thousand(int64_t offset)
{
	(void)offset;
	return 1000;
}

/* Three zones, as of a redirector that is idle, busy and flooded. */
static int64_t zones(int64_t offset)
{
	return offset < 4000 ? 1 : offset < 7000 ? 100 : 1000;
}

/* A peak between two quiet times, which the ends do not show. */
static int64_t peak(int64_t offset)
{
	return offset >= 4500 && offset < 5500 ? 1000 : 1;
}

/* A busy and two idle redirectors in turn. */
static int64_t mixed(int64_t offset)
{
	return offset % 3 == 0 ? 1000 : 1;
}

static double sum(density events, int64_t first, int64_t end)
{
	double sum = 0;
	for (int64_t offset = first; offset < end; offset++)
		sum += (double)events(offset);
	return sum;
}

/* Reads until the estimate is good enough. Returns how often. */
static int read_all(struct kafka_backlog *b, density events)
{
	struct kafka_backlog_run run;
	int reads = 0;
	for (; kafka_backlog_next(b, &run); reads++) {
		assert_true(reads < 2 * KAFKA_BACKLOG_RUNS_MAX);
		assert_true(run.first >= b->first && run.first < run.end && run.end <= b->end);
		if (run.end - run.first > RUN_RECORDS_MAX)
			run.end = run.first + RUN_RECORDS_MAX;
		run.events = sum(events, run.first, run.end);
		kafka_backlog_add(b, run);
	}
	return reads;
}

static void assert_within(const struct kafka_backlog *b, density events, double share)
{
	double wanted = sum(events, b->first, b->end), found = kafka_backlog_events(b);
	if (fabs(found - wanted) > share * wanted)
		fail_msg("%.0f events, wanted %.0f", found, wanted);
}

TEST_CASE(counts_a_short_backlog_exactly)
{
	(void)state;
	struct kafka_backlog b = { 0 };
	assert_int_equal(read_all(&b, mixed), 0);
	assert_true(kafka_backlog_events(&b) == 0);
	for (int64_t end = 1; end <= 60; end++) {
		kafka_backlog_set(&b, 0, end);
		read_all(&b, mixed);
		assert_within(&b, mixed, 0);
	}
}

TEST_CASE(estimates_a_long_backlog_from_few_records)
{
	(void)state;
	const density densities[] = { one, thousand, zones, peak, mixed };
	for (size_t i = 0; i < 5; i++) {
		struct kafka_backlog b = { 0 };
		kafka_backlog_set(&b, 0, 10000);
		assert_true(read_all(&b, densities[i]) <= 48);
		assert_within(&b, densities[i], 0.03);
	}
}

TEST_CASE(keeps_to_what_is_not_counted_yet)
{
	(void)state;
	struct kafka_backlog b = { 0 };
	kafka_backlog_set(&b, 0, 10000);
	read_all(&b, zones);
	int reads = 0;
	for (int64_t first = 0; first <= 10000; first += 100) {
		kafka_backlog_set(&b, first, 10000);
		assert_within(&b, zones, 0.1);
		reads += read_all(&b, zones);
		assert_within(&b, zones, 0.03);
	}
	assert_int_equal(b.count, 0);
	assert_in_range(reads, 1, 80);
	/* Of a run that is counted in part, the rest. */
	kafka_backlog_set(&b, 0, 100);
	kafka_backlog_add(&b, (struct kafka_backlog_run){ 0, 100, 100000 });
	kafka_backlog_set(&b, 40, 100);
	assert_true(kafka_backlog_events(&b) == 60000);
	/* All that was read is counted, and a little has come since. */
	kafka_backlog_set(&b, 100, 110);
	read_all(&b, one);
	assert_within(&b, one, 0);
	/* An operator resumes at an earlier offset. */
	kafka_backlog_set(&b, 2000, 10000);
	read_all(&b, zones);
	assert_within(&b, zones, 0.03);
}

TEST_CASE(forgets_a_topic_that_was_created_again)
{
	(void)state;
	struct kafka_backlog b = { 0 };
	kafka_backlog_set(&b, 0, 10000);
	read_all(&b, thousand);
	kafka_backlog_set(&b, 0, 2000);
	read_all(&b, one);
	assert_within(&b, one, 0);
}

/* Half a day in which nothing is counted: each second grows by another density. */
TEST_CASE(keeps_a_growing_backlog_in_bounded_memory)
{
	(void)state;
	struct kafka_backlog b = { 0 };
	for (int64_t second = 1; second <= 100; second++) {
		kafka_backlog_set(&b, 0, 100 * second);
		assert_true(read_all(&b, zones) <= KAFKA_BACKLOG_RUNS_MAX);
		assert_true(b.count <= KAFKA_BACKLOG_RUNS_MAX);
		assert_within(&b, zones, 0.05);
	}
	for (int64_t second = 1; second <= 40000; second++) {
		kafka_backlog_set(&b, 0, 10000 + 100 * second);
		assert_true(read_all(&b, zones) <= 3);
	}
	assert_within(&b, zones, 0.01);
	kafka_backlog_set(&b, 5000, b.end);
	assert_within(&b, zones, 0.02);
}

TEST_MAIN()
