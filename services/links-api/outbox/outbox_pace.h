/*
 * Pure. How many patient rows of the outbox (lib/links/outbox.h) the relay may take now: so many a second, in portions,
 * so that a purge of a million links is no flood for Redis, Kafka and whoever follows links.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_PACE_H
#define WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_PACE_H

#include <stdint.h>

/* A token bucket; nothing is saved up beyond one portion. */
struct outbox_pace {
	double per_second;
	double most;
	double tokens;
	int64_t filled_us; /* steady, as all times here */
};

/* per_second: at least 1. most: rows that are read together. */
void outbox_pace_init(struct outbox_pace *pace, int64_t per_second, int64_t most, int64_t now_us);

/* Rows that may be taken now; 0 until a portion, a twentieth of a second's worth, is together. */
int64_t outbox_pace_allowance(struct outbox_pace *pace, int64_t now_us);

void outbox_pace_spend(struct outbox_pace *pace, int64_t rows);

/* Milliseconds until there is a portion: at least 1. */
int64_t outbox_pace_wait_ms(const struct outbox_pace *pace, int64_t now_us);

#endif
