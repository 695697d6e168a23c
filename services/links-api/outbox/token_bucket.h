/*
 * A token bucket. The relay uses it for low-priority outbox rows (lib/links/outbox.h): it limits
 * their rate, so that purging a million links does not flood Redis, Kafka and their consumers.
 * Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_OUTBOX_TOKEN_BUCKET_H
#define WAYMARK_SERVICES_LINKS_API_OUTBOX_TOKEN_BUCKET_H

#include <stdint.h>

/* The bucket never holds more than one batch. */
struct token_bucket {
	double per_second;
	double max;
	double tokens;
	int64_t refilled_us; /* steady clock, as all times here */
};

/* per_second: at least 1. max: the largest number of rows in one batch. */
void token_bucket_init(struct token_bucket *bucket, int64_t per_second, int64_t max,
                       int64_t now_us);

/* Rows that may be taken now. Returns 0 until a twentieth of a second's worth has accumulated. */
int64_t token_bucket_available(struct token_bucket *bucket, int64_t now_us);

void token_bucket_spend(struct token_bucket *bucket, int64_t rows);

/* Milliseconds until a portion is available: at least 1. */
int64_t token_bucket_wait_ms(const struct token_bucket *bucket, int64_t now_us);

#endif
