/*
 * Safe from any thread. Counts what became of records handed to a kafka_producer. Make the producer
 * with delivery_done as its `delivered` callback and send records with delivery_send.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_PUBLISH_DELIVERY_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_PUBLISH_DELIVERY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/kafka/kafka_producer.h"

/* Initially { 0 }. It must outlive its pending records. */
struct delivery {
	_Atomic size_t pending;
	_Atomic size_t acked;
	/* Given up by the producer, or rejected by Kafka. */
	_Atomic size_t failed;
};

/* The callback of a producer (kafka_delivered). opaque is the delivery. */
void delivery_done(void *ctx, void *opaque, enum err result);

/*
 * Sends record and counts it as pending. ERR_LIMIT, ERR_INVALID: as kafka_producer_send; nothing is
 * counted.
 */
enum err delivery_send(struct delivery *delivery, struct kafka_producer *producer,
                       struct kafka_record *record) MUST_CHECK;

bool delivery_is_pending(const struct delivery *delivery);

#endif
