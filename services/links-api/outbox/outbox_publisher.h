/*
 * One thread at a time. Sends the outbox's LinkEvents to waymark.links.v1, with CloudEvents headers and the slug as
 * key, and waits for Kafka's acks.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_PUBLISHER_H
#define WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_PUBLISHER_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/links/outbox.h"
#include "lib/net/kafka_config.h"

/* Rows that may be under way together. */
#define OUTBOX_PUBLISHER_ROWS_MAX 256
/* After this Kafka's client gives a record up that was not acked. */
#define OUTBOX_PUBLISHER_TIMEOUT_MS 3000

struct outbox_publisher;

/* Works without Kafka. ERR_INVALID: librdkafka refuses the configuration (logged). kafka is copied. */
enum err outbox_publisher_new(const struct kafka_config *kafka, const struct log *log, struct metrics *metrics,
                              struct outbox_publisher **out) MUST_CHECK;
/* Gives up what is under way. NULL is allowed. */
void outbox_publisher_free(struct outbox_publisher *p);

/*
 * Sends one event; after a PURGED event a tombstone (NULL value), so that compaction forgets the link. Does not wait.
 */
enum err outbox_publisher_send(struct outbox_publisher *p, const struct outbox_row *row) MUST_CHECK;

/*
 * Sends a mark (lib/links/feed_mark.h) to each partition. Does not wait, and nobody settles it: a mark that is lost is
 * followed by a newer one. ERR_UNAVAILABLE: none was sent, as the last one is still under way or the number of
 * partitions is not known yet. ERR_LIMIT: not to all of them.
 */
enum err outbox_publisher_mark(struct outbox_publisher *p, int64_t as_of_us, int64_t generation) MUST_CHECK;

/*
 * Waits until nothing is under way. OK: all that was sent since the last settling was acked. ERR_UNAVAILABLE: some of
 * it was given up. ERR_LIMIT: some is still under way after timeout_ms; ask again.
 */
enum err outbox_publisher_settle(struct outbox_publisher *p, int64_t timeout_ms) MUST_CHECK;

#endif
