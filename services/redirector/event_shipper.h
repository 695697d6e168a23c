/*
 * Safe from any thread. Click path 4/9. Takes the event of each answered redirect and brings it to Kafka
 * (waymark.redirects.v1), at least once and in the order of its sequence, without ever letting a redirect wait.
 *
 * An appended event is in a journal (journal.h) before event_shipper_append returns, so it outlives kill -9 of the
 * process; one thread ships it and deletes it when Kafka has acked it. What an earlier process left in the folder is
 * shipped first. Kafka away: the journals grow up to bytes_max, then events are dropped and counted. At every scrape
 *
 *   waymark_events_accepted_total = waymark_events_acked_total + waymark_events_queued + waymark_events_dropped_total
 *
 * where accepted and queued begin with what was found.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_EVENT_SHIPPER_H
#define WAYMARK_SERVICES_REDIRECTOR_EVENT_SHIPPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/clicks/redirect_event.h"
#include "lib/net/kafka_config.h"

struct event_shipper;

struct event_shipper_config {
	const struct kafka_config *kafka;
	const char *journal_dir; /* made if it is not there (its parent must be) */
	size_t bytes_max;        /* of all journals together */
	int64_t fsync_ms;        /* 0 = when the kernel likes */
	const struct clock *clock;
	const struct log *log;
	struct metrics *metrics;
};

/* Works without the brokers and without the folder. ERR_INVALID: the Kafka configuration is refused (logged). */
enum err event_shipper_new(const struct event_shipper_config *config, struct event_shipper **out) MUST_CHECK;

/* Copies event; sets its instance and sequence. traceparent: the trace that it belongs to (trace_context.h), or "". */
void event_shipper_append(struct event_shipper *shipper, struct redirect_event *event, const char *traceparent);

struct event_shipper_counts {
	uint64_t accepted;
	uint64_t acked;
	uint64_t queued;
	uint64_t dropped;
};

/* Of one moment: the equation above holds in it. */
struct event_shipper_counts event_shipper_count(const struct event_shipper *shipper);

/*
 * Whether the folder can be written. false = a fault of this machine: new events are dropped. Full because Kafka is
 * away is not such a fault: it is the same for every redirector, and taking them out of service would help nobody. For
 * /readyz.
 */
bool event_shipper_can_write(void *shipper);

/*
 * Waits until nothing is queued. ERR_UNAVAILABLE: not within timeout_ms; logged. What is queued stays in the journal.
 */
enum err event_shipper_flush(struct event_shipper *shipper, int64_t timeout_ms) MUST_CHECK;

void event_shipper_free(struct event_shipper *shipper);

#endif
