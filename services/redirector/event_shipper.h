/*
 * Safe from any thread. Click path 4/9. Takes the event of each answered redirect and brings it to Kafka
 * (waymark.redirects.v1), at least once and in the order of its sequence, without ever letting a redirect wait.
 *
 * An appended event is kept in memory until Kafka has acked it, however long Kafka is away; when bytes_max is used up,
 * further events are dropped and counted. At every scrape
 *
 *   waymark_events_accepted_total = waymark_events_acked_total + waymark_events_queued + waymark_events_dropped_total
 *
 * What is queued when the process is killed is lost. An orderly end flushes.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_EVENT_SHIPPER_H
#define WAYMARK_SERVICES_REDIRECTOR_EVENT_SHIPPER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/clicks/redirect_event.h"
#include "lib/net/kafka_config.h"

struct event_shipper;

struct event_shipper_config {
	const struct kafka_config *kafka;
	size_t bytes_max;
	const struct log *log;
	struct metrics *metrics;
};

/* Works without the brokers. ERR_INVALID: the Kafka configuration is refused (logged). */
enum err event_shipper_new(const struct event_shipper_config *config, struct event_shipper **out) MUST_CHECK;

/* Copies event; sets its instance and sequence. */
void event_shipper_append(struct event_shipper *shipper, struct redirect_event *event);

struct event_shipper_counts {
	uint64_t accepted;
	uint64_t acked;
	uint64_t queued;
	uint64_t dropped;
};

/* Of one moment: the equation above holds in it. */
struct event_shipper_counts event_shipper_count(const struct event_shipper *shipper);

/* Waits until nothing is queued. ERR_UNAVAILABLE: not within timeout_ms; logged. */
enum err event_shipper_flush(struct event_shipper *shipper, int64_t timeout_ms) MUST_CHECK;

/* Gives up what is still queued. */
void event_shipper_free(struct event_shipper *shipper);

#endif
