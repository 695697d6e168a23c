/*
 * Safe from any thread. Stores the event of each redirect in a journal on disk and ships it to
 * Kafka, at least once and in the order of its sequence. A redirect never waits for Kafka.
 *
 *       event_shipper_append(shipper, &event);   // before the response is queued
 *
 * event_shipper_append returns once the event is in the journal (journal.h), so the event survives
 * kill -9. One thread packs the journal's records into batches (event_packer.h), ships those and
 * releases the records when Kafka has acknowledged them. What an earlier process left in the
 * directory is shipped first. While Kafka is down the journals grow up to bytes_max; beyond that,
 * events are dropped and counted. At every scrape
 *
 *   waymark_events_accepted_total
 *       = waymark_events_acked_total + waymark_events_queued + waymark_events_dropped_total
 *
 * Events found at the start count as accepted and queued.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_EVENTS_EVENT_SHIPPER_H
#define WAYMARK_SERVICES_REDIRECTOR_EVENTS_EVENT_SHIPPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/clicks/redirect_event.h"
#include "lib/kafka/kafka_config.h"

struct event_shipper;

struct event_shipper_config {
	const struct kafka_config *kafka;
	/* Of RedirectBatch. */
	const char *topic;
	/* Created if missing; its parent must exist. */
	const char *journal_dir;
	/* Of all journal shards together. */
	size_t bytes_max;
	/* 0: the kernel decides. */
	int64_t fsync_ms;
	const struct clock *clock;
	const struct log *log;
	struct metrics *metrics;
};

/* Needs neither brokers nor the directory. ERR_INVALID: Kafka settings rejected (logged). */
enum err event_shipper_new(const struct event_shipper_config *config,
                           struct event_shipper **out) MUST_CHECK;

/* Copies event, and gives the copy an id of its own. */
void event_shipper_append(struct event_shipper *shipper, const struct redirect_event *event);

struct event_shipper_counts {
	uint64_t accepted;
	uint64_t acked;
	uint64_t queued;
	uint64_t dropped;
};

/*
 * For /readyz: the events that were dropped until now, without a pause of an hour between them. 0
 * again once the last one was an hour ago, so that people who look see recent losses only.
 */
int64_t event_shipper_dropped_lately(void *shipper);

/* A consistent snapshot: the equation above holds in it. */
struct event_shipper_counts event_shipper_count(const struct event_shipper *shipper);

/*
 * For /readyz. False: the journal cannot be written because of this machine, and new events are
 * dropped. A journal that is full because Kafka is down is still healthy: every redirector is in
 * the same state, and taking them all out of service would not help.
 */
bool event_shipper_is_healthy(void *shipper);

/*
 * For a process that ends: from now on no event waits for others of its batch, so that fewer are
 * left in the journal if the process is killed before event_shipper_flush.
 */
void event_shipper_end_linger(struct event_shipper *shipper);

/*
 * Blocks until nothing is queued. ERR_UNAVAILABLE: timeout_ms passed (logged); the queued events
 * stay in the journal.
 */
enum err event_shipper_flush(struct event_shipper *shipper, int64_t timeout_ms) MUST_CHECK;

void event_shipper_free(struct event_shipper *shipper);

#endif
