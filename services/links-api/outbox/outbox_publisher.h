/*
 * Publishes outbox rows as LinkEvents to waymark.links.v1, with CloudEvents headers and the slug as
 * key, and waits for Kafka's acks. Publishes watermarks to waymark.link-watermarks.v1. Not
 * thread-safe.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_PUBLISHER_H
#define WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_PUBLISHER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/kafka/kafka_config.h"
#include "lib/links/outbox.h"
#include "lib/links/watermark.h"

/* Rows that may be in flight together. */
#define OUTBOX_PUBLISHER_ROWS_MAX 256
/* The Kafka client gives up a record that is not acked within this time. */
#define OUTBOX_PUBLISHER_TIMEOUT_MS 3000

struct outbox_publisher;

/*
 * Does not need Kafka to be up. ERR_INVALID: librdkafka rejects the configuration (logged). kafka
 * is copied.
 */
enum err outbox_publisher_new(const struct kafka_config *kafka, const struct log *log,
                              struct metrics *metrics, struct outbox_publisher **out) MUST_CHECK;
/* Abandons records in flight. NULL is allowed. */
void outbox_publisher_free(struct outbox_publisher *p);

/* As kafka_producer_is_reachable. Safe from any thread. */
bool outbox_publisher_reaches_kafka(const struct outbox_publisher *p);

/*
 * Queues one event, without its extras, and does not wait. After a PURGED event it also queues a tombstone (NULL value),
 * so that log compaction removes the name, unless only the spelling of a slug has changed.
 */
enum err outbox_publisher_send(struct outbox_publisher *p, const struct outbox_row *row) MUST_CHECK;

/* Forgets the ends of waymark.links.v1, because another relay may have written to it. */
void outbox_publisher_forget_ends(struct outbox_publisher *p);

/*
 * Queries the ends of waymark.links.v1. Call it while no event is in flight. ERR_UNAVAILABLE: Kafka
 * has not answered within timeout_ms. ERR_LIMIT: the topic has too many partitions (logged).
 */
enum err outbox_publisher_query_ends(struct outbox_publisher *p, int64_t timeout_ms) MUST_CHECK;

/* Whether the ends are known, from that query and from the acks since. */
bool outbox_publisher_knows_ends(const struct outbox_publisher *p);

/*
 * Queues a watermark (lib/links/watermark.h) with the known ends, without waiting. Delivery is not
 * checked, because a newer watermark follows. ERR_UNAVAILABLE: not queued, because a record is
 * still in flight or the ends are unknown. ERR_LIMIT: the queue is full.
 */
enum err outbox_publisher_send_watermark(struct outbox_publisher *p, int64_t as_of_us,
                                         int64_t generation, int64_t version_base) MUST_CHECK;

/*
 * Waits until no record is in flight. OK: everything sent since the last flush was acked.
 * ERR_UNAVAILABLE: some records were given up. ERR_LIMIT: some are still in flight after
 * timeout_ms; call again.
 */
enum err outbox_publisher_flush(struct outbox_publisher *p, int64_t timeout_ms) MUST_CHECK;

/*
 * The ends of the partitions of waymark.links.v1, as the relay knows them: from the brokers once,
 * and from then on from the acks of its own records, because nobody else writes there. Watermarks
 * carry them (lib/links/watermark.h).
 *
 * An offset below the known end shows that the topic was created again. The end is then unknown
 * until the brokers are queried, and lowest_end keeps the lowest one for the readers, until Kafka
 * has acknowledged a watermark with it.
 *
 * Pure.
 */
struct outbox_publisher_ends {
	bool are_known;
	int32_t partitions;
	struct watermark_partition partition[WATERMARK_PARTITIONS_MAX];
	/* In the watermark that is in flight. */
	int64_t lowest_sent[WATERMARK_PARTITIONS_MAX];
};

/* Forgets everything: other relays may have written meanwhile. */
void outbox_publisher_ends_reset(struct outbox_publisher_ends *ends);

/* The brokers named these ends while no record was in flight. */
void outbox_publisher_ends_set(struct outbox_publisher_ends *ends, const int64_t *queried,
                               int32_t partitions);

/* A record was acked. A negative offset is unknown. */
void outbox_publisher_ends_add(struct outbox_publisher_ends *ends, int32_t partition,
                               int64_t offset);

/* Copies the ends into a watermark that is about to be sent. They must be known. */
void outbox_publisher_ends_take(struct outbox_publisher_ends *ends, struct watermark *out);

/* That watermark was not acked, so the next one has to repeat its lowest ends. */
void outbox_publisher_ends_restore(struct outbox_publisher_ends *ends);

#endif
