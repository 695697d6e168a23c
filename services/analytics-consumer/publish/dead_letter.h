/*
 * One thread at a time. Messages that are not valid RedirectEvents, kept for operators. Each one
 * goes to the dead-letter topic with its value and key. Headers say why it was rejected and where
 * it stood:
 *
 *   reason     the invalid field ("visitor_hash"), what is wrong with the whole message, or the
 *              header that declares another type ("ce_type: waymark.link.v1")
 *   topic, partition, offset
 *              where the original is, until retention removes it
 *   bytes      the original length. Value and key are cut at DEAD_LETTER_BYTES_MAX and
 *              DEAD_LETTER_KEY_MAX, so that every message fits into the topic
 *
 * Dead letters are sent inside the batch's transaction, after the fence. A process that no longer
 * owns the partition therefore sends none, and the offset passes a message only after Kafka has
 * acknowledged its dead letter. Each message has one dead letter, with one exception: the process
 * or its connection dies between the acknowledgement and the commit. Then the next owner sends the
 * letter again with the same topic, partition and offset.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_PUBLISH_DEAD_LETTER_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_PUBLISH_DEAD_LETTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/kafka/kafka_consumer.h"
#include "lib/kafka/kafka_producer.h"

/*
 * Together with key and headers, this stays below the 1,000,000 bytes that producers and brokers
 * accept by default.
 */
#define DEAD_LETTER_BYTES_MAX ((size_t)900000)
#define DEAD_LETTER_KEY_MAX ((size_t)256)

struct dead_letter_list;

/* count_max: letters of one batch. bytes_max: then the list is full. Topics are borrowed. */
struct dead_letter_list *dead_letter_list_new(size_t count_max, size_t bytes_max, const char *topic,
                                              const char *dead_letter_topic);
/* The producer must have been freed, or must have reported on every letter. */
void dead_letter_list_free(struct dead_letter_list *letters);

/* Copies message and reason. Ignored when the list already has count_max letters. */
void dead_letter_list_add(struct dead_letter_list *letters, const struct kafka_message *message,
                          const char *reason);
bool dead_letter_list_is_full(const struct dead_letter_list *letters);
size_t dead_letter_list_length(const struct dead_letter_list *letters);

/*
 * Sends every letter that is not acknowledged yet and waits for the acknowledgements.
 * ERR_UNAVAILABLE: some are missing after timeout_ms; call it again. Acknowledged letters are not
 * sent again.
 */
enum err dead_letter_list_send(struct dead_letter_list *letters, struct kafka_producer *producer,
                               int64_t timeout_ms) MUST_CHECK;

/* Letters that were not acknowledged when the last dead_letter_list_send timed out. */
size_t dead_letter_list_overdue(const struct dead_letter_list *letters);

/* Empties the list of a batch stored or discarded. Letters in flight stay until reported. */
void dead_letter_list_reset(struct dead_letter_list *letters);

#endif
