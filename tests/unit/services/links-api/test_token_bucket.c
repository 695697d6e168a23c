#include <stdint.h>

#include "lib/base/clock.h"
#include "services/links-api/outbox/token_bucket.h"
#include "tests/support/test.h"

#define BATCH_MAX 256

TEST_CASE(keeps_the_rate_however_often_it_is_called)
{
	struct token_bucket bucket;
	int64_t taken = 0, now_us = 7;
	token_bucket_init(&bucket, 2000, BATCH_MAX, now_us);
	for (int ms = 0; ms < 10000; ms++) {
		now_us += CLOCK_US_PER_MS;
		int64_t rows = token_bucket_available(&bucket, now_us);
		assert_true(rows == 0 || rows >= 100);
		token_bucket_spend(&bucket, rows, now_us);
		taken += rows;
	}
	assert_in_range(taken, 19900, 20000);
}

TEST_CASE(accumulates_at_most_one_batch)
{
	struct token_bucket bucket;
	token_bucket_init(&bucket, 1000000, BATCH_MAX, 0);
	assert_int_equal(token_bucket_available(&bucket, 0), 0);
	assert_int_equal(token_bucket_available(&bucket, 60 * CLOCK_US_PER_S), BATCH_MAX);
	token_bucket_spend(&bucket, BATCH_MAX, 60 * CLOCK_US_PER_S);
	assert_int_equal(token_bucket_available(&bucket, 60 * CLOCK_US_PER_S), 0);
}

TEST_CASE(reports_when_the_next_portion_is_available)
{
	struct token_bucket bucket;
	token_bucket_init(&bucket, 2000, BATCH_MAX, 0);
	int64_t wait_ms = token_bucket_wait_ms(&bucket, 0);
	assert_in_range(wait_ms, 50, 51);
	assert_true(token_bucket_available(&bucket, wait_ms * CLOCK_US_PER_MS) >= 100);
	assert_int_equal(token_bucket_wait_ms(&bucket, wait_ms * CLOCK_US_PER_MS), 1);
	/* A rate of one per second allows one row each second. */
	token_bucket_init(&bucket, 1, BATCH_MAX, 0);
	assert_int_equal(token_bucket_available(&bucket, CLOCK_US_PER_S), 1);
}

TEST_MAIN()
