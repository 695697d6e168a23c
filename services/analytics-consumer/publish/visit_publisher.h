/*
 * One thread at a time. Publishes counted visits for integrations: VisitEvents on
 * waymark.visits.v1, at least once, after the commit that counts them.
 *
 * The process may die between that commit and the last acknowledgement. The next owner of the
 * partition learns from the topic of redirects which visits are not published:
 *
 *   - A commit also stores the offset up to which everything is published
 *     (consumer_offsets.published_offset): where this batch starts, or the batch before, whose
 *     visits may not be acknowledged yet.
 *   - A new owner starts to read there. Visits of records before next_offset are loaded from
 *     visit_log and published again, but not counted again.
 *   - An orderly shutdown and a consumer that has caught up set it to next_offset.
 *
 * So a visit is published again only after a crash, a lost partition or a rejected record, with the
 * same event_id and content. While Kafka accepts no visits, counting waits and the lag grows. If it
 * rejects them for good (a topic for tiny messages), each batch logs an error and reading restarts
 * from published_offset. One gap remains, which is logged as an error: retention removes the
 * redirects from published_offset on before a consumer is back.
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
