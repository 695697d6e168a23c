#include "services/links-api/outbox/token_bucket.h"

#include "lib/base/clock.h"

#define PORTIONS_PER_SECOND 20.0

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

/* At least one row, at most one batch. */
static double portion(const struct token_bucket *bucket)
{
	double rows = bucket->per_second / PORTIONS_PER_SECOND;
	return smaller(rows < 1 ? 1 : rows, bucket->max);
}

static double tokens_at(const struct token_bucket *bucket, int64_t now_us)
{
	double earned = bucket->per_second * (double)(now_us - bucket->refilled_us) /
	                (double)CLOCK_US_PER_S;
	return smaller(bucket->tokens + earned, bucket->max);
}

void token_bucket_init(struct token_bucket *bucket, int64_t per_second, int64_t max, int64_t now_us)
{
	*bucket = (struct token_bucket){ .per_second = (double)per_second,
		                         .max = (double)max,
		                         .refilled_us = now_us };
}

int64_t token_bucket_available(struct token_bucket *bucket, int64_t now_us)
{
	bucket->tokens = tokens_at(bucket, now_us);
	bucket->refilled_us = now_us;
	return bucket->tokens >= portion(bucket) ? (int64_t)bucket->tokens : 0;
}

void token_bucket_spend(struct token_bucket *bucket, int64_t rows)
{
	bucket->tokens -= (double)rows;
}

int64_t token_bucket_wait_ms(const struct token_bucket *bucket, int64_t now_us)
{
	double missing = portion(bucket) - tokens_at(bucket, now_us);
	double ms = missing / bucket->per_second * 1000;
	return ms > 0 ? 1 + (int64_t)ms : 1;
}
