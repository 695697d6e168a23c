/*
 * Safe from any thread. What became of records handed to a kafka_producer: pass a delivery as their opaque, and
 * delivery_done as the producer's delivered.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_DELIVERY_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_DELIVERY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/net/kafka_producer.h"

/* Starts as { 0 }; must live until nothing is pending. */
struct delivery {
	atomic_size_t pending;
	atomic_size_t acked;
	atomic_size_t failed; /* given up, or refused for good */
};

/* As kafka_delivered; opaque is the delivery. */
void delivery_done(void *ctx, void *opaque, enum err result);

/* Sends record and counts it in. ERR_LIMIT, ERR_INVALID: as kafka_producer_send, nothing was counted. */
enum err delivery_send(struct delivery *delivery, struct kafka_producer *producer,
                       struct kafka_record *record) MUST_CHECK;

bool delivery_is_pending(const struct delivery *delivery);

#endif
