/*
 * The rate of low-priority outbox rows (lib/links/outbox.h), so that purging a million links does
 * not flood Redis, Kafka and their consumers: lib/base/limiter.h, taken in portions. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_OUTBOX_TOKEN_BUCKET_H
#define WAYMARK_SERVICES_LINKS_API_OUTBOX_TOKEN_BUCKET_H

#include <stdint.h>

#include "lib/base/limiter.h"

struct token_bucket {
	struct limiter_rule rule;
	/* Steady clock, as all times here. */
	int64_t free_at_us;
};

/* per_second: at least 1. max: the largest number of rows in one batch. It begins empty. */
void token_bucket_init(struct token_bucket *bucket, int64_t per_second, int64_t max,
                       int64_t now_us);

/* Rows that may be taken now. Returns 0 until a twentieth of a second's worth has accumulated. */
int64_t token_bucket_available(const struct token_bucket *bucket, int64_t now_us);

void token_bucket_spend(struct token_bucket *bucket, int64_t rows, int64_t now_us);

/* Milliseconds until a portion is available: at least 1. */
int64_t token_bucket_wait_ms(const struct token_bucket *bucket, int64_t now_us);

#endif
