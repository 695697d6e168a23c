/*
 * One thread at a time. Click path 8/9. Tells integrations about counted visits: VisitEvents on waymark.visits.v1, at
 * least once, after the commit that counted them.
 *
 * Between that commit and the last acknowledgement the process may die, and the next owner of the partition must know
 * what was left over. Three ways were weighed: an outbox row per visit (a second write for every click), the batch's
 * event ids beside the offset (200 kB that are rewritten with every batch), and a second offset. We take the second
 * offset, because the topic of redirects already is a log of what has to be published:
 *
 *   - A batch is committed only after the visits of the batches before it are acknowledged. Its commit therefore says for
 *     free up to where all is published: consumer_offsets.published_offset.
 *   - Whoever gets a partition begins to read at published_offset. Records before next_offset are counted already: their
 *     visits are taken from visit_log, as they were stored, and published again, not counted again.
 *   - An orderly end, and a consumer that has caught up, set published_offset = next_offset.
 *
 * So a visit is published again only after a crash, a lost partition, or a refused record, and then with the same
 * event_id and the same content. While Kafka does not take visits, counting waits, and /metrics shows the lag: a
 * counted visit that nobody hears of would be the worse failure. If Kafka refuses visits for good (a topic that allows
 * only tiny messages), each batch is followed by an error log and a new start from published_offset. What remains: if
 * the redirects of published_offset are gone by retention before anybody came back, those visits stay unpublished,
 * which is logged as an error.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_VISIT_PUBLISHER_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_VISIT_PUBLISHER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/net/kafka_producer.h"
#include "services/analytics-consumer/visit.h"

struct visit_publisher;

/* The producer must have been made with delivery_done as delivered. */
struct visit_publisher *visit_publisher_new(struct kafka_producer *producer, const char *topic);
/* After the producer has been freed. */
void visit_publisher_free(struct visit_publisher *publisher);

/*
 * Hands visits over that are new or were counted before, from *done on, and moves *done. ERR_LIMIT: the queue is full;
 * call again. ERR_INVALID: the producer refuses one.
 */
enum err visit_publisher_send(struct visit_publisher *publisher, const struct visit *visits, size_t count,
                              size_t *done) MUST_CHECK;

/*
 * Waits for acknowledgements. OK: everything that was handed over is acknowledged. ERR_UNAVAILABLE: not within
 * timeout_ms. ERR_INTERNAL: some were given up, which is told once: publish from published_offset again.
 */
enum err visit_publisher_settle(struct visit_publisher *publisher, int64_t timeout_ms) MUST_CHECK;

/* Visits acknowledged so far. */
int64_t visit_publisher_acked(const struct visit_publisher *publisher);

#endif
