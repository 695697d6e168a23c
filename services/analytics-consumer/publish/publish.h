/*
 * What the service writes to Kafka: the counted visits, and dead letters.
 *
 * One thread at a time; publish_delivered is safe from any thread.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_PUBLISH_PUBLISH_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_PUBLISH_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/kafka/kafka_consumer.h"
#include "lib/kafka/kafka_producer.h"
#include "services/analytics-consumer/facts/visit.h"

/* The callback of the producer (kafka_delivered). ctx is not used. */
void publish_delivered(void *ctx, void *opaque, enum err result);

/* --- visits --- */

/*
 * Counted visits for integrations: VisitEvents on waymark.visits.v1, at least once, after the commit
 * that counts them.
 *
 * The process may die between that commit and the last acknowledgement. The next owner of the
 * partition learns from the topic of redirects which visits are not published:
 *
 *   - A commit also stores the position up to which everything is published
 *     (consumer_offsets.published_offset, published_index): where this batch starts, or the batch
 *     before, whose visits may not be acknowledged yet.
 *   - A new owner starts to read there. Visits of events before the next position are loaded from
 *     visit_log and published again, but not counted again.
 *   - An orderly shutdown and a consumer that has caught up set it to the next position.
 *
 * So a visit is published again only after a crash, a lost partition or a rejected record, with the
 * same event_id and content. While Kafka accepts no visits, counting waits and the lag grows. If it
 * rejects them for good (a topic for tiny messages), each batch logs an error and reading restarts
 * from published_offset. One gap remains, which is logged as an error: retention removes the
 * redirects from published_offset on before a consumer is back.
 */
struct visit_publisher;

/* The producer's `delivered` callback must be publish_delivered. topic is borrowed. */
struct visit_publisher *publish_visits_new(struct kafka_producer *producer, const char *topic);
/* Call it after the producer has been freed. publisher may be NULL. */
void publish_visits_free(struct visit_publisher *publisher);

/*
 * Queues the visits from index *done on, except duplicates, and advances *done. ERR_LIMIT: the
 * queue is full; call it again. ERR_INVALID: the producer refuses a visit.
 */
enum err publish_visits_send(struct visit_publisher *publisher, const struct visit *visits,
                             size_t count, size_t *done) MUST_CHECK;

/*
 * Waits for acknowledgements. OK: every queued visit is acknowledged. ERR_UNAVAILABLE: not within
 * timeout_ms. ERR_INTERNAL: some visits failed for good, reported once: publish again from
 * published_offset.
 */
enum err publish_visits_flush(struct visit_publisher *publisher, int64_t timeout_ms) MUST_CHECK;

/* --- dead letters --- */

/*
 * What is not a valid click, kept for operators: a RedirectEvent of a batch, or a record that is no
 * RedirectBatch. It goes to the dead-letter topic with its value, and with its key if it is a record.
 * Headers say why it was rejected and where it stood:
 *
 *   reason     the invalid field ("visitor_hash"), what is wrong with the whole record, or the
 *              header that declares another type ("ce_type: waymark.link.v1")
 *   topic, partition, offset, index
 *              where the original is, until retention removes it; without index if it is a record
 *   bytes      the original length. Value and key are cut at PUBLISH_DEAD_LETTER_BYTES_MAX and
 *              PUBLISH_DEAD_LETTER_KEY_MAX, so that every message fits into the topic
 *
 * Dead letters are sent inside the batch's transaction, after the fence. A process that no longer
 * owns the partition therefore sends none, and the offset passes a message only after Kafka has
 * acknowledged its dead letter. Each message has one dead letter, with one exception: the process
 * or its connection dies between the acknowledgement and the commit. Then the next owner sends the
 * letter again with the same topic, partition, offset and index.
 */

/*
 * Together with key and headers, this stays below the 1,000,000 bytes that producers and brokers
 * accept by default.
 */
#define PUBLISH_DEAD_LETTER_BYTES_MAX ((size_t)900000)
#define PUBLISH_DEAD_LETTER_KEY_MAX ((size_t)256)

struct dead_letter_list;

/* count_max: letters of one batch. bytes_max: then the list is full. Topics are borrowed. */
struct dead_letter_list *publish_letters_new(size_t count_max, size_t bytes_max, const char *topic,
                                             const char *dead_letter_topic);
/* The producer must have been freed, or must have reported on every letter. */
void publish_letters_free(struct dead_letter_list *letters);

#define PUBLISH_WHOLE_RECORD (-1)

/*
 * Copies message and reason. index: of the event that is message's value, or PUBLISH_WHOLE_RECORD.
 * Ignored when the list already has count_max letters.
 */
void publish_letters_add(struct dead_letter_list *letters, const struct kafka_message *message,
                         int64_t index, const char *reason);
bool publish_letters_is_full(const struct dead_letter_list *letters);
size_t publish_letters_length(const struct dead_letter_list *letters);

/*
 * Sends every letter that is not acknowledged yet and waits for the acknowledgements.
 * ERR_UNAVAILABLE: some are missing after timeout_ms; call it again. Acknowledged letters are not
 * sent again.
 */
enum err publish_letters_send(struct dead_letter_list *letters, struct kafka_producer *producer,
                              int64_t timeout_ms) MUST_CHECK;

/* Letters that were not acknowledged when the last publish_letters_send timed out. */
size_t publish_letters_overdue(const struct dead_letter_list *letters);

/* Empties the list of a batch stored or discarded. Letters in flight stay until reported. */
void publish_letters_reset(struct dead_letter_list *letters);

#endif
