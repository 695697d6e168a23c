/*
 * One thread at a time. Publishes counted visits for integrations: VisitEvents on
 * waymark.visits.v1, at least once, after the commit that counts them.
 *
 * The process may die between that commit and the last acknowledgement. The next owner of the
 * partition must then know which visits are not published. Three designs were considered: an outbox
 * row per visit (a second write for every click), the batch's event ids beside the offset (200 kB
 * rewritten with every batch), and a second offset. The second offset won, because the topic of
 * redirects already is a log of what has to be published:
 *
 *   - When a batch is committed, at most the visits of the batch before are not acknowledged yet.
 *     Its commit therefore also stores, at no extra cost, the offset up to which everything is
 *     published: consumer_offsets.published_offset. That is where this batch starts, or the batch
 *     before.
 *   - A new owner starts to read at published_offset. Records before next_offset are already
 *     counted. Their visits are loaded from visit_log as they were stored and published again, but
 *     not counted again.
 *   - An orderly shutdown and a consumer that has caught up set published_offset = next_offset.
 *
 * A visit is published again only after a crash, a lost partition or a rejected record, with the
 * same event_id and the same content. While Kafka does not accept visits, counting waits and the
 * lag grows on /metrics: a counted visit that integrations never see would be the worse failure. If
 * Kafka rejects visits permanently (for example a topic that allows only tiny messages), each batch
 * logs an error and reading restarts from published_offset. One gap remains: if retention removes
 * the redirects from published_offset on before a consumer is back, those visits stay unpublished.
 * This is logged as an error.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_PUBLISH_VISIT_PUBLISHER_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_PUBLISH_VISIT_PUBLISHER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/kafka/kafka_producer.h"
#include "services/analytics-consumer/facts/visit.h"

struct visit_publisher;

/* The producer must have delivery_done as its `delivered` callback. topic is borrowed. */
struct visit_publisher *visit_publisher_new(struct kafka_producer *producer, const char *topic);
/* Call it after the producer has been freed. publisher may be NULL. */
void visit_publisher_free(struct visit_publisher *publisher);

/*
 * Queues the visits from index *done on, except duplicates, and advances *done. ERR_LIMIT: the
 * queue is full; call it again. ERR_INVALID: the producer refuses a visit.
 */
enum err visit_publisher_send(struct visit_publisher *publisher, const struct visit *visits,
                              size_t count, size_t *done) MUST_CHECK;

/*
 * Waits for acknowledgements. OK: every queued visit is acknowledged. ERR_UNAVAILABLE: not within
 * timeout_ms. ERR_INTERNAL: some visits failed for good, reported once: publish again from
 * published_offset.
 */
enum err visit_publisher_flush(struct visit_publisher *publisher, int64_t timeout_ms) MUST_CHECK;

#endif
