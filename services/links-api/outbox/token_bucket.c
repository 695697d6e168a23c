#include "services/links-api/outbox/token_bucket.h"

#include "lib/base/clock.h"

#define PORTIONS_PER_SECOND 20

/* At least one row, at most one batch. */
static int64_t portion(const struct token_bucket *bucket)
{
	int64_t rows = CLOCK_US_PER_S / PORTIONS_PER_SECOND / limiter_event_us(&bucket->rule);
	if (rows < 1)
		return 1;
	return rows < bucket->rule.max ? rows : bucket->rule.max;
}

static int64_t owed_us(const struct token_bucket *bucket, int64_t now_us)
{
	return bucket->free_at_us > now_us ? bucket->free_at_us - now_us : 0;
}

void token_bucket_init(struct token_bucket *bucket, int64_t per_second, int64_t max, int64_t now_us)
{
	int64_t window_us = max * CLOCK_US_PER_S / per_second;
	*bucket = (struct token_bucket){ { max, window_us }, now_us + window_us };
}

int64_t token_bucket_available(const struct token_bucket *bucket, int64_t now_us)
{
	int64_t rows = limiter_left(&bucket->rule, owed_us(bucket, now_us));
	return rows >= portion(bucket) ? rows : 0;
}

void token_bucket_spend(struct token_bucket *bucket, int64_t rows, int64_t now_us)
{
	bucket->free_at_us = now_us + limiter_count(&bucket->rule, owed_us(bucket, now_us), rows);
}

int64_t token_bucket_wait_ms(const struct token_bucket *bucket, int64_t now_us)
{
	int64_t most_us = (bucket->rule.max - portion(bucket)) * limiter_event_us(&bucket->rule);
	int64_t wait_us = owed_us(bucket, now_us) - most_us;
	return wait_us > 0 ? 1 + wait_us / CLOCK_US_PER_MS : 1;
}
